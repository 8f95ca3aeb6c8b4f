"""A stack of candidates as a ladder, the ledger's entries of it, and what a compare does when it is interrupted or misused."""
import json
import signal
import subprocess
import time
import unittest

import support
from project import ProjectCase

OPS, LAG = "default.work.ops", "default.work.lag"
BASE, POOL, CHECKS = (1000, 5), (1250, 5), (1000, 4)  # the second candidate gives back what the first brought


class Stack(ProjectCase):
    def stack(self, *levels):
        project = self.project(levels)
        # What a program of three milliseconds costs in CPU is not what these are about.
        for cost in ("cpu_us",):
            project.config["scenarios"]["work"]["metrics"][cost] = {"unit": "x", "better": "lower", "gated": False}
        project.config["scenarios"]["work"]["repeats"] = 1
        project.write_config()
        return project.commits

    def fits(self, document, verb):
        import jsonschema
        jsonschema.validate(document, json.loads((support.ROOT / f"config/schemas/{verb}.schema.json").read_text()))
        return document

    @staticmethod
    def verdicts(comparison):
        return {m["metric"]: m["verdict"] for m in comparison["metrics"]}

    def test_ladder(self):
        main, pool, checks = self.stack(BASE, POOL, CHECKS)
        ran = self.program("compare", main, pool, checks, "--ladder", "--json", "--quiet", "--html", "ladder.html",
                           "--label", "faster pool", "--note", "two steps", code=1)
        document = self.fits(ran.json(), "compare")
        self.assertEqual(document["comparisons"], 3)
        against_base = [self.verdicts(head) for head in document["heads"]]
        self.assertEqual(against_base, [{OPS: "better", LAG: "same"}, {OPS: "same", LAG: "better"}])
        rung = document["rungs"][0]
        self.assertEqual((rung["arm"], rung["against"]), (2, 1))
        self.assertEqual(self.verdicts(rung), {OPS: "worse", LAG: "better"})
        self.assertTrue(rung["trade"])
        page = (self.dir / "ladder.html").read_text()
        for part in ("The ladder", "stands on", "A trade"):
            self.assertIn(part, page)
        (self.dir / "result.json").write_text(ran.out)
        markdown = self.program("report", "compare", "result.json", "--format", "markdown").out
        self.assertIn("the one below", markdown)
        self.assertIn("Absolute values", markdown)
        self.ledger_of_the_ladder()

    def ledger_of_the_ladder(self):
        entries = self.fits(self.program("ledger", "--json").json(), "ledger")["entries"]
        self.assertEqual(len(entries), 2)
        self.assertEqual([e["verdict"] for e in entries], ["candidate", "candidate"])
        first, second = entries
        self.assertEqual(second["stands_on"], first["head"])
        self.assertEqual(first["stands_on"], first["base"])
        self.assertIn("build ", first["base_build"])
        self.assertGreaterEqual(first["pairs"], 3)
        self.assertIn("on top of", second["result"])
        self.assertIn(f"{OPS} same", second["result"])
        self.program("ledger", str(first["id"]), "--verdict", "superseded", "--by", str(second["id"]), "--reason", "one step")
        self.program("ledger", str(second["id"]), "--verdict", "kept", "--reason", "less lag")
        self.assertIn(f"superseded by entry {second['id']}", self.program("ledger").out)
        shown = self.program("ledger", str(second["id"])).out
        for part in ("stands on", "changed", "to kept by"):
            self.assertIn(part, shown)
        changes = self.fits(self.program("ledger", str(second["id"]), "--json").json(), "ledger")["entries"][0]["changes"]
        self.assertEqual([c["verdict"] for c in changes], ["kept"])
        for text in (self.program("ledger", "--format", "markdown").out, self.program("ledger", "--format", "html").out):
            decided, _, dropped = text.partition("Tried and dropped")
            self.assertIn("less lag", decided)
            self.assertIn("one step", dropped)

    def test_the_table_has_both(self):
        main, pool, checks = self.stack(BASE, POOL, CHECKS)
        out = self.program("compare", main, pool, checks, "--ladder", "--quiet", code=1).out
        lines = out.splitlines()
        self.assertIn("against base", lines[1])
        self.assertIn("against the one below", lines[1])
        row = next(line for line in lines if OPS in line and line.count("same") == 1)
        self.assertIn("WORSENS", row)

    def test_odd_arguments(self):
        commits = self.stack(BASE, POOL)
        for arguments, says in ((["--ladder"], "two candidates"), (["--note", "x"], "--label or --record"),
                                (["--pairs", "0"], "--pairs"), (["--max-minutes", "nan"], "nan")):
            ran = self.program("compare", *commits, "--json", *arguments, code=2)
            self.assertEqual(self.fits(ran.json(), "error")["exit_code"], 2)
            self.assertIn(says, ran.out)
        self.program("compare", commits[0], "--json", code=2).json()
        self.program("compare", commits[0], "0" * 40, "--json", code=2).json()
        self.program("compare", *commits * 5, "--json", code=2).json()
        ran = self.program("compare", *commits, "--pairs", "2", "--quiet", code=4)
        self.assertIn("by chance one time in 6", ran.out)

    def test_ledger_abuse(self):
        commits = self.stack(BASE, BASE)
        self.program("compare", commits[0], commits[0], "--label", "nothing\x1b[31m | <b>", "--quiet")
        for arguments in (["--verdict", "splendid"], ["--reason", "x"], ["--by", "x"], ["--note", "x"], ["0"], ["-1"], ["x"],
                          ["9", "--verdict", "kept", "--reason", "x"], ["1", "--verdict", "kept"], ["1", "--reason", "x"],
                          ["1", "--verdict", "kept", "--reason", " "], ["1", "--label", "x"], ["1", "--format", "html"],
                          ["1", "--verdict", "superseded", "--reason", "x"], ["1", "--verdict", "kept", "--reason", "x", "--by", "2"],
                          ["1", "--verdict", "superseded", "--reason", "x", "--by", "1"],
                          ["1", "--verdict", "superseded", "--reason", "x", "--by", "77"],
                          ["--add"], ["--add", "--label", " "], ["--add", "--label", "idea"], ["1", "--add", "--label", "x"]):
            ran = self.program("ledger", *arguments, "--json", code=2)
            self.fits(ran.json(), "error")
        self.program("ledger", "--add", "--label", "huge pages", "--note", "THP for the store", "--reason", "no kernel for it")
        self.program("ledger", "--add", "--label", "huge pages", "--reason", "again", code=2)
        entries = self.fits(self.program("ledger", "--json", "--verdict", "never_run").json(), "ledger")["entries"]
        self.assertEqual([(e["label"], e["run"], e["result"]) for e in entries], [("huge pages", "", "no measurement")])
        self.assertEqual(self.program("ledger", "--label", "absent").out, "no entry of the ledger is like that\n")
        self.assertNotIn("\x1b", self.program("ledger").out)
        self.assertNotIn("<b>", self.program("ledger", "--format", "html").out)

    def interrupted(self, *options, wait, code):
        """SIGINT once `wait` is on stderr."""
        commits = self.made.commits
        with open(self.dir / "errors", "w+") as errors:
            process = subprocess.Popen([support.PROGRAM, "compare", *commits, "--json", *options], cwd=self.dir,
                                       stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
            self.addCleanup(support.stop, process)
            end = time.monotonic() + 60
            while wait not in (self.dir / "errors").read_text() and time.monotonic() < end and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        said = (self.dir / "errors").read_text()
        self.assertEqual(process.returncode, code, said + out)
        return json.loads(out)

    def test_interrupted(self):
        slow = "#!/bin/sh\nsleep 0.3\nawk 'BEGIN {{srand(); print \"{{\\\"ops\\\": \" {0} + 900 * rand() \", \\\"lag\\\": 5}}\"}}'\n"
        self.stack(slow.format(4000), slow.format(4100))
        document = self.interrupted("--record", wait="pair 2", code=4)
        self.fits(document, "compare")
        self.assertTrue(document["stopped"])
        self.assertEqual(document["void_pairs"], [])
        self.assertGreaterEqual(document["pairs"], 2)
        entry = self.program("ledger", "--json").json()["entries"][0]
        self.assertEqual(entry["verdict"], "inconclusive")
        self.fits(self.interrupted(wait="start 1", code=3), "error")


if __name__ == "__main__":
    unittest.main()
