"""Every kind of page in a real browser: 1440 and 390 px wide, light and dark, and printed. No message on the console, no request off
the page, no sideways scrolling, nothing for axe to complain about, and names that are markup elsewhere are text here.

  python3 tests/e2e/test_pages.py --refresh     writes tests/golden anew: look at the difference before committing it
  python3 tests/e2e/test_pages.py --shots DIR   pictures of the pages, for looking at

Needs chromium (ci/setup), and puppeteer-core and axe-core from npm in build/npm or $NIGHTGATE_NODE_MODULES (ci/test)."""
import csv
import difflib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import support  # noqa: E402
from project import ProjectCase  # noqa: E402

GOLDEN = support.ROOT / "tests" / "golden"
REFRESH, SHOTS = False, ""
SCRIPT = "<script>window.hostile=1</script>"
HOSTILE = [SCRIPT, "a|b `c` *d* \"e\" 'f' <img src=x onerror=window.hostile=1>", "שלום.מהירות.rate \u202e then",
           "long." + "n" * 490 + ".rate"]
GOOD, SLOW = (1000, 5), (660, 5)


def shown(name):
    """How a hostile name is seen: without what would turn the text around it."""
    return name.replace("\u202e", "")


def steps(night, level, drop_at, share):
    """A figure with a little noise that is the same every time, and a drop."""
    wobble = ((night * 7919) % 13 - 6) / 1000
    return level * (1 + wobble) * (1 - share if drop_at <= night else 1)


def write_history(path, nights=40):
    """40 nights of eight metrics, four of them with hostile names; two fall in night 30, one of them for good; one gets
    five times as slow in night 38."""
    with open(path, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow("time commit machine metric unit better value".split())
        for night in range(1, nights + 1):
            time = f"2026-{3 + (night - 1) // 28:02}-{1 + (night - 1) % 28:02}T01:00:00Z"
            sha = f"{night * 2654435761 % 2**40:010x}"
            back = 0 if night >= 36 else 0.3
            rows.writerow([time, sha, "bench-1", "default.work.ops", "1/s", "higher", f"{steps(night, 12345, 30, 0.3):.2f}"])
            rows.writerow([time, sha, "bench-1", "default.work.lag", "ms", "lower", f"{steps(night + 3, 4.2, 33, -back):.4f}"])
            rows.writerow([time, sha, "bench-1", "second.work.ops", "1/s", "higher", f"{steps(night + 5, 3210, 99, 0):.2f}"])
            rows.writerow([time, sha, "bench-1", "second.work.lag", "ms", "lower", f"{steps(night + 7, 2.1, 45, -4.2):.4f}"])
            for place, name in enumerate(HOSTILE):
                rows.writerow([time, sha, "bench-1", name, "ms", "lower", f"{steps(night + place, 50, 99, 0):.3f}"])


def modules():
    return Path(os.environ.get("NIGHTGATE_NODE_MODULES") or support.ROOT / "build" / "npm" / "node_modules")


class PageCase(ProjectCase):
    def golden(self, name, text):
        """The text is that of tests/golden/NAME; times of today, version and other accidents are taken out first."""
        text = re.sub(r"<style>.*?</style>", "<style></style>", text, flags=re.S)
        text = re.sub(r"(<dt>nightgate</dt><dd>)[^<]*", r"\1VERSION", text)
        text = re.sub(r"(<dt>machine</dt><dd>bench-1)[^<]*", r"\1", text)
        text = re.sub(r"(</time>\)</td><td>)[^<]*", r"\1MACHINE", text)  # what kind of machine this is
        text = text.replace("><", ">\n<")  # a line per element, so that a difference can be read
        path = GOLDEN / name
        if REFRESH:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before != text:
            difference = list(difflib.unified_diff(before.splitlines(), text.splitlines(), "golden", "now", "", "", 1))
            self.fail(f"{path} differs (--refresh writes it anew):\n" + "\n".join(difference[:40]))

    def fits(self, document, name):
        import jsonschema
        jsonschema.validate(document, json.loads((support.ROOT / f"config/schemas/{name}.schema.json").read_text()))

    def browse(self, pages):
        """pages: name -> (file, texts that must be seen). Names that begin with quick: in two ways instead of four."""
        self.need("node", "chromium")
        for package in ("puppeteer-core", "axe-core"):
            if not (modules() / package).exists():
                self.skipTest(f"no {package} in {modules()} (ci/test installs it)")
        job = {"modules": str(modules()), "browser": "chromium", "profile": str(self.dir / "profile"), "shots": SHOTS,
               "widths": [1440, 390], "schemes": ["light", "dark"],
               "pages": [{"name": name, "file": str(file), "texts": texts, "quick": name.startswith("quick")}
                         for name, (file, texts) in pages.items()]}
        job["browser"] = support.shutil.which("chromium")
        (self.dir / "job.json").write_text(json.dumps(job))
        answers = support.run(["node", support.ROOT / "tests/e2e/pages.mjs", self.dir / "job.json"], timeout=170)
        self.assertEqual(answers.code, 0, str(answers))
        seen = answers.json()
        self.assertEqual(len(seen), sum(3 if name.startswith("quick") else 5 for name in pages))
        faults = [f"{a['page']} {a['width']} {a['scheme']}: {fault}" for a in seen for fault in a["faults"]]
        self.assertFalse(faults, "\n".join(faults[:30]))


class Site(PageCase):
    """From a history that is the same every time: also what the golden files hold."""

    def make(self):
        self.project([GOOD])
        write_history(self.dir / "history.csv")
        self.program("import", "history.csv")
        self.program("report", "site", "site")
        return self.dir / "site"

    def test_pages(self):
        site = self.make()
        machine = site / "machine" / "bench-1"
        metrics = {p.read_text().split("<h1>")[1].split("</h1>")[0]: p for p in (machine / "metric").iterdir()}
        self.assertEqual(len(metrics), 8)
        pages = {"site-index": (site / "index.html", ["default.work.ops", "Open regressions", "times as bad"]),
                 "site-metrics": (machine / "metrics.html", [shown(name) for name in HOSTILE]),
                 "site-metric": (machine / "metric/default.work.ops.html", ["Change points", "29.9 %"]),
                 "site-night": (machine / "night/30.html", [shown(name) for name in HOSTILE]),
                 "quick-beside": (machine / "night/40.html", ["Deployments side by side", "work.ops, 1/s", "second", "red"]),
                 "quick-five": (machine / "night/39.html", ["times as bad"]),
                 "site-trip": (site / "trip/1.html", ["default.work.ops"]),
                 "quick-ledger": (site / "ledger.html", ["Nothing"])}
        for place, name in enumerate(HOSTILE):
            page = next(p for p in metrics.values() if p.name.startswith(["-script", "a-b", "-------", "long"][place]))
            pages[f"quick-hostile-{place}"] = (page, [shown(name)])
        self.browse(pages)
        for name in ("site-index", "site-metrics", "site-metric", "site-night", "site-trip"):
            self.golden(f"{name}.html", pages[name][0].read_text(encoding="utf-8"))
        self.links_lead_somewhere(site)

    def test_documents(self):
        """What the reports say as JSON fits its schema."""
        self.make()
        for name, arguments in (("report-night", ("report", "night", "30", "--machine", "bench-1", "--format", "json")),
                                ("report-trip", ("report", "trip", "1", "--json")), ("report", ("report", "site", "site", "--json")),
                                ("history", ("history", "default.work.ops", "--changes", "--json")),
                                ("history", ("history", "--json")),
                                ("history", ("history", "default.work.ops", "--explain", "30", "--json"))):
            self.fits(self.program(*arguments).json(), name)

    def links_lead_somewhere(self, site):
        for page in site.rglob("*.html"):
            for address in re.findall(r'(?:href|src)="([^"#]+)"', page.read_text(encoding="utf-8")):
                if not address.startswith("data:"):
                    self.assertTrue((page.parent / address).exists(), f"{page}: {address}")

    def test_only_what_changed_is_written(self):
        site = self.make()
        nights = site / "machine/bench-1/night"
        when = {p: p.stat().st_mtime_ns for p in site.rglob("*.html")}
        self.assertEqual(self.program("report", "site", "site", "--json").json()["written"], 0)
        self.assertEqual(when, {p: p.stat().st_mtime_ns for p in site.rglob("*.html")})
        # A night adds its page, and the one before links to it.
        text = (self.dir / "history.csv").read_text(encoding="utf-8").splitlines()
        more = [line.replace(line[:20], "2026-06-01T01:00:00Z") for line in text[-8:]]
        (self.dir / "more.csv").write_text("\n".join([text[0], *more]) + "\n", encoding="utf-8")
        self.program("import", "more.csv")
        self.program("report", "site", "site")
        self.assertTrue((nights / "41.html").exists())
        self.assertIn('href="41.html"', (nights / "40.html").read_text())
        self.assertEqual(when[nights / "20.html"], (nights / "20.html").stat().st_mtime_ns)
        self.assertIn("Night 41:", (site / "machine/bench-1/metric/default.work.ops.html").read_text())
        # A night that is taken out is written again, and so is the history of every metric.
        self.program("void", "20", "--reason", "backup <b>ran</b>", "--machine", "bench-1", code=None)
        self.program("report", "site", "site")
        self.assertIn("backup &lt;b&gt;ran&lt;/b&gt;", (nights / "20.html").read_text())
        self.assertNotIn("Night 20,", (site / "machine/bench-1/metric/default.work.lag.html").read_text())

        # A directory of somebody else is left alone.
        (self.dir / "www").mkdir()
        (self.dir / "www" / "index.html").write_text("mine")
        self.assertIn("not a site of nightgate", self.program("report", "site", "www", code=2).err)
        self.assertEqual((self.dir / "www" / "index.html").read_text(), "mine")


class History(PageCase):
    """history in the terminal: every line fits, colour only where it is wanted."""

    def at(self, columns, *arguments, **environment):
        """What is printed on a terminal that is so many columns wide."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        out = subprocess.run([support.PROGRAM, "history", *arguments], cwd=self.dir, stdout=theirs, stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm", **environment}, timeout=60)
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the end of a terminal
                break
            if not part:
                break
            text += part
        os.close(ours)
        self.assertEqual(out.returncode, 0, out.stderr)
        return text.decode().replace("\r\n", "\n")

    def test_history(self):
        self.project([GOOD])
        write_history(self.dir / "history.csv")
        self.program("import", "history.csv")
        piped = self.program("history", "default.work.ops", "--changes").out
        self.golden("history.txt", piped)
        self.assertNotIn("red (red)", piped)
        self.assertNotIn("\x1b", piped)
        self.golden("history-all.txt", self.program("history").out)
        for columns in (60, 80, 140):
            for arguments in ((), ("default.work.ops",)):
                text = self.at(columns, *arguments)
                self.assertIn("\x1b[31m", text)
                plain = re.sub("\x1b\\[[0-9]*m", "", text)
                self.assertNotIn("\x1b", plain)
                for line in plain.splitlines():
                    self.assertLessEqual(len(line), columns, line)
        self.assertNotIn("\x1b", self.at(80, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.at(80, TERM="dumb"))


class Single(PageCase):
    """Pages that stand alone, of real nights, a real bisect and a real compare."""

    def test_pages(self):
        project = self.project([GOOD] * 9, night={"starts": 2, "min_gap_hours": 0})
        for title in (SCRIPT + " (#210)", "Tune \u202eeht | `pool`", "Docs"):
            project.merge(SLOW, title)
        project.config["report"] = {"site": "www/site"}
        project.write_config()
        self.warm_up(7)
        self.night(10)  # merges 8 to 10 are new in it
        self.night(12, code=1)
        self.assertTrue((self.dir / "www/site/trip/1.html").exists())  # the night itself keeps the site
        self.assertIn("Open regressions", (self.dir / "www/site/index.html").read_text())
        self.assertIn("0 pages written", self.program("report", "site").out)  # where the config says, and nothing is stale
        self.program("report", "night", "9", "--output", "night.html")
        self.program("report", "trip", "1", "--output", "trip.html")
        self.assertEqual(self.program("report", "bisect", "1").out, (self.dir / "trip.html").read_text())
        self.program("bisect", "--good", project.commits[7], "--bad", project.commits[11], "--metric", "default.work.ops",
                     "--quiet")
        self.program("report", "bisect", "2", "--output", "bisect.html")
        self.fits(self.program("report", "bisect", "2", "--format", "json").json(), "report-trip")
        self.program("compare", project.commits[0], project.commits[11], "--quiet", "--html", "compare.html", "--label",
                     SCRIPT, code=1)
        self.release(project.commits[0], project.commits[11])
        (self.dir / "ledger.html").write_text(self.program("ledger", "--format", "html").out)
        self.program("report", "site", "site")
        self.site_cannot_be_written(project)
        self.browse({"night": (self.dir / "night.html", ["default.work.ops"]),
                     "trip": (self.dir / "trip.html", [SCRIPT, "How to reproduce"]),
                     "quick-bisect": (self.dir / "bisect.html", [SCRIPT, "bisect 2", "spread of its repeats"]),
                     "compare": (self.dir / "compare.html", ["WORSENS", "default.work.ops"]),
                     "quick-ledger": (self.dir / "ledger.html", [SCRIPT]),
                     "release": (self.dir / "release.html", ["unexplained", "Absolute figures"]),
                     "site-release": (next((self.dir / "site/release").glob("*.html")), ["checks <b>every</b> write"]),
                     "real-index": (self.dir / "site/index.html", [SCRIPT, "Open regressions"]),
                     "real-night": (self.dir / "site/machine/bench-1/night/9.html", ["Conditions over"]),
                     "quick-metric": (self.dir / "site/machine/bench-1/metric/default.work.ops.html", [SCRIPT])})

    def site_cannot_be_written(self, project):
        """What stands in the way of the site is told, and the night's verdict stays what it is."""
        (self.dir / "mine").mkdir()
        (self.dir / "mine/index.html").write_text("mine")
        project.config["report"]["site"] = "mine"
        project.write_config()
        ran = self.program("nightly", "--quiet", "--json", code=1)
        self.assertIn("the site could not be written", ran.err)
        self.assertIn("not a site of nightgate", ran.err)
        self.assertEqual(ran.json()["verdict"], "regression")
        self.assertEqual((self.dir / "mine/index.html").read_text(), "mine")

    def release(self, base, head):
        """Measured twice: a price nobody explained fails under --strict; with its reason it does not."""
        document = self.program("release", base, head, "--quiet", "--strict", "--json", "--html", "release.html", code=1).json()
        self.fits(document, "release")
        self.assertEqual(document["unexplained"], 1)
        self.assertEqual({c["metric"]: c["outcome"] for c in document["changes"]},
                         {"default.work.ops": "price", "default.work.lag": "same"})
        self.assertTrue(all(f["rounds"] >= 5 for f in document["figures"]), document["figures"])
        self.program("release", base, head, "--quiet", "--strict", "--reason", "default.work.ops=checks <b>every</b> write",
                     code=0)
        self.assertIn("checks <b>every</b> write", self.program("report", "release", head, "--json").out)
        self.program("report", "release", "--format", "yuneta", "--output", "perf.json")
        self.assertEqual(json.loads((self.dir / "perf.json").read_text())["ab"][0]["verdict"], "price")
        self.assertIn("Absolute figures", self.program("report", "release", "perf.json").out)
        self.program("report", "release", "v99", code=2)

    def test_compare_from_its_document(self):
        document = GOLDEN / "compare.json"
        page = self.program("report", "compare", document, "--output", self.dir / "page.html")
        self.assertIn("wrote", page.out)
        self.golden("compare.html", (self.dir / "page.html").read_text(encoding="utf-8"))
        self.golden("compare.md", self.program("report", "compare", document, "--format", "markdown").out)
        self.browse({"compare-golden": (self.dir / "page.html", [SCRIPT, "A trade"])})
        (self.dir / "bad.json").write_text('{"schema":"nightgate-nightly/1"}')
        self.program("report", "compare", "bad.json", code=2)


if __name__ == "__main__":
    if "--refresh" in sys.argv:
        sys.argv.remove("--refresh")
        REFRESH = True
    if "--shots" in sys.argv:
        SHOTS = sys.argv.pop(sys.argv.index("--shots") + 1)
        sys.argv.remove("--shots")
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
    unittest.main()
