"""The checks of ci/test find what they are there for, and lose no test."""
import json
import re
import shutil
import sys
from pathlib import Path

from support import PROGRAM, ROOT, Case, run

sys.path.insert(0, str(ROOT / "ci" / "checks"))
import tally  # noqa: E402

CATCH = """
#include "tests/support/catch.hpp"
#include <cstdlib>
TEST_CASE("fine, with a comma") { SECTION("a/b") { CHECK(1 == 1); } SECTION("c") { CHECK(2 == 2); } }
TEST_CASE("wrong") { const int one = 1; CHECK(one == 2); CHECK(one == 3); }
TEST_CASE("left out") { NG_SKIP("no such thing here"); }
TEST_CASE("thrown") { throw 5; }
TEST_CASE("dies", "[.crash]") { CHECK(true); std::abort(); }
TEST_CASE("leaves", "[.leave]") { std::_Exit(0); }
TEST_CASE("late", "[.crash]") { CHECK(true); }
"""


class Tally(Case):
    def book(self, program, *arguments):
        """(pass, fail, skip) names of a Catch2 program's run."""
        xml, skips = self.dir / "out.xml", self.dir / "skips"
        for file in (xml, skips, self.dir / "results"):
            file.unlink(missing_ok=True)
        ran = run([program, "-r", "xml", "-o", xml, *arguments], env={"NIGHTGATE_SKIP_LOG": str(skips)})
        results = tally.Results(self.dir / "results", quiet=True)
        tally.book_catch(results, "unit", xml, ran.code, skips)
        return tuple([row[2] for row in results.rows() if row[0] == status] for status in ("pass", "fail", "skip"))

    def test_catch_programs(self):
        source, program = self.dir / "some.cpp", self.dir / "some"
        source.write_text(CATCH)
        built = run(["g++", "-std=c++20", "-O0", f"-I{ROOT}", source, ROOT / "tests/support/skip.cpp", "-o", program,
                     "-lCatch2WithMain"], timeout=300)
        if built.code != 0:  # version 3 has its library in two parts
            built = run(["g++", "-std=c++20", "-O0", f"-I{ROOT}", source, ROOT / "tests/support/skip.cpp", "-o", program,
                         "-lCatch2Main", "-lCatch2"], timeout=300)
        self.assertEqual(built.code, 0, str(built))
        self.assertEqual(self.book(program), (["fine, with a comma"], ["wrong", "thrown"], ["left out"]))
        passed, failed, _ = self.book(program, "fine*,dies,late")
        self.assertIn("fine, with a comma", passed)
        self.assertTrue(failed, "an abort is a failure")
        self.assertEqual(self.book(program, "leaves"), ([], ["unit_tests"], []), "no whole report, though exit code 0")
        self.assertEqual(self.book(program, "nothing like this"), ([], ["unit_tests"], []), "no test is a failure")

    def test_summary(self):
        log = self.dir / "results"
        results = tally.Results(log, quiet=True)
        script = ROOT / "ci" / "checks" / "tally.py"

        def closing():
            ran = run([sys.executable, script, log, "summary", "   1 s  unit"])
            return ran.code, ran.out.splitlines()[-1]

        self.assertEqual(closing(), (1, "0 passed, 0 failed"))
        results.add("pass", "unit", "a")
        self.assertEqual(closing(), (0, "1 passed, 0 failed"))
        results.add("skip", "unit", "b", "because")
        self.assertEqual(closing(), (0, "1 passed, 0 failed, 1 skipped"))
        results.add("fail", "unit", "c", "two\nlines\tand a tab")
        self.assertEqual(closing(), (1, "1 passed, 1 failed, 1 skipped"))

    def test_left_over_processes(self):
        process = self.start(["sleep", "60"], env={"NIGHTGATE_TEST_RUN": "some-mark"})
        results = tally.Results(self.dir / "results", quiet=True)
        tally.left_over(results, "NIGHTGATE_TEST_RUN=another-mark")
        self.assertEqual(results.rows(), [])
        tally.left_over(results, "NIGHTGATE_TEST_RUN=some-mark")
        self.assertEqual([row[:2] for row in results.rows()], [["fail", "left-over"]])
        self.assertEqual(process.wait(10), -15)


class Hardened(Case):
    CHECK = ROOT / "ci" / "checks" / "hardened"

    def test_the_program(self):
        ran = run([self.CHECK, PROGRAM])
        self.assertEqual(ran.code, 0, str(ran))
        release = ROOT / "build" / "release" / "nightgate"
        if release.exists():
            ran = run([self.CHECK, release, "--fortify"])
            self.assertEqual(ran.code, 0, str(ran))

    def test_how_a_release_is_built(self):
        """Every file of ours in the release preset; one of them is built, since flags can contradict each other."""
        ran = run(["cmake", "-S", ROOT, "-B", self.dir / "release", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"], timeout=200)
        self.assertEqual(ran.code, 0, str(ran))
        entries = json.loads((self.dir / "release/compile_commands.json").read_text())
        self.assertGreater(len(entries), 150)
        for entry in entries:
            for word in ("-O3", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-fPI"):
                self.assertIn(word, entry["command"], entry["file"])
        link = re.search(r"(?s)build nightgate: .*?LINK_FLAGS = ([^\n]*)", (self.dir / "release/build.ninja").read_text()).group(1)
        for word in ("-Wl,-z,relro,-z,now", "-pie"):
            self.assertIn(word, link)

    def test_a_soft_program_is_found(self):
        (self.dir / "soft.c").write_text("int main(void) { return 0; }\n")
        for flags, missing in ((["-no-pie"], "position-independent"), (["-Wl,-z,norelro"], "RELRO"), (["-Wl,-z,lazy"], "BIND_NOW"),
                               (["-Wl,-z,execstack"], "executable stack"), (["-fno-stack-protector"], "stack protector")):
            built = run(["cc", *flags, self.dir / "soft.c", "-o", self.dir / "soft"])
            self.assertEqual(built.code, 0, str(built))
            ran = run([self.CHECK, self.dir / "soft", "--fortify"])
            self.assertEqual(ran.code, 1)
            self.assertRegex(ran.out, f"FAULT [^\\n]*{missing}")
            self.assertIn("FAULT FORTIFY", ran.out)


class Arrows(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "CMakeLists.txt", self.dir)
        for room in ("gate/base", "gate/judge", "gate/measure", "store"):
            (self.dir / room).mkdir(parents=True)
        self.write("gate/base/a.hpp", "#include <string>\n")
        self.write("store/rows.hpp", '#include "gate/base/a.hpp"\n')
        self.write("gate/judge/pure.hpp", "#include <vector>\n#include <cmath>\n")

    def write(self, name, text):
        Path(self.dir / name).write_text(text)

    def arrows(self):
        ran = run([ROOT / "ci" / "checks" / "arrows", self.dir])
        return ran.code, ran.out

    def test_right_tree(self):
        self.assertEqual(self.arrows(), (0, ""))

    def test_wrong_includes(self):
        for name, text, said in (
                ("gate/base/b.cpp", '#include "store/rows.hpp"', "base may not include store"),
                ("gate/measure/b.cpp", '#  include "store/rows.hpp"', "measure may not include store"),
                ("store/b.cpp", '#include "rows.hpp"', "no path from the top"),
                ("gate/judge/b.cpp", "#include <fmt/format.h>", "standard library only"),
                ("gate/judge/b.cpp", '#include "gate/base/a.hpp"', "judge may not include base"),
                ("gate/base/b.hpp", "#include <nlohmann/json.hpp>", "for .cpp files"),
                ("store/b.cpp", '#include "tests/x.hpp"', "no path from the top")):
            with self.subTest(text=text):
                self.write(name, text + "\n")
                code, out = self.arrows()
                self.assertEqual(code, 1)
                self.assertIn(said, out)
                (self.dir / name).unlink()

    def test_another_build(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.write("CMakeLists.txt", text.replace("ng_room(measure DIR gate/measure   USES base",
                                                  "ng_room(measure DIR gate/measure   USES store base"))
        code, out = self.arrows()
        self.assertEqual(code, 1)
        self.assertIn("arrows of measure differ", out)
