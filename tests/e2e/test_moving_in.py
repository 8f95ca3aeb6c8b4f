"""Moving in: histories that a project keeps are found by init, brought in by import, and are the first night's baseline."""
import json
import random
import shlex
import unittest

from project import ProjectCase

OPS = "default.work.ops"


def lines(nights, level, names=("work",), **more):
    """One JSON object per night and database, as a nightly job appends them."""
    dice = random.Random(4)
    rows = []
    for night in range(nights):
        for database in ("memory", "disk"):
            figures = {name: round(level * (1 + dice.uniform(-0.008, 0.008)), 1) for name in names}
            rows.append({"date": f"2026-02-{night + 1:02d}T02:00:00Z", "run": str(4000 + night), "sha": f"{night:08x}",
                         "db": database, **figures, **more})
    return "".join(json.dumps(row) + "\n" for row in rows)


def release(version, date, level):
    figure = {"id": "queue/append", "unit": "msg/s", "better": "higher", "mean": level, "median": level, "n": 5}
    return {"schema": "yuneta-perf-report/1", "version": version, "date": date,
            "machine": {"model": "bench-1", "cpu": "Some CPU", "cores": 6, "threads": 12}, "figures": [figure]}


class Init(ProjectCase):
    def found(self, **options):
        return {h["file"]: h for h in self.program("init", "--json", "--force", **options).json()["histories"]}

    def test_it_names_what_it_found_and_the_command(self):
        self.need("git")
        perf = self.dir / "perf" / "old runs"
        perf.mkdir(parents=True)
        (perf / "history.jsonl").write_text(lines(9, 5000, ("create_c50", "create_c1")))
        for number in (1, 2):
            (perf / f"v{number}.json").write_text(json.dumps(release(f"{number}.0.0", f"2026-0{number}-01", 900)))
        # None of these is a history, or one that import would take whole.
        (self.dir / "package.json").write_text('{"name": "shop", "version": "1.0"}')
        (self.dir / "log.jsonl").write_text('{"date": "2026-02-01T02:00:00Z", "level": "info"}\n')
        (self.dir / "cut.jsonl").write_text(lines(9, 5000)[:-20])
        (self.dir / ".cache").mkdir()
        (self.dir / ".cache" / "history.jsonl").write_text(lines(9, 5000))
        found = self.found()
        self.assertEqual(sorted(found), ["perf/old runs/history.jsonl", "perf/old runs/v1.json", "perf/old runs/v2.json"])
        kept = found["perf/old runs/history.jsonl"]
        self.assertEqual((kept["format"], kept["nights"], kept["metrics"]), ("json-lines", 9, 4))
        said = self.program("init", "--force").out
        for history in found.values():
            self.assertIn(history["command"], said)
            self.assertEqual(shlex.split(history["command"])[:3], ["nightgate", "import", history["file"]])
        self.assertIn("--machine", kept["command"])
        self.assertNotIn("--machine", found["perf/old runs/v1.json"]["command"])  # the file names its machine
        self.assertIn("measured on bench-1", said)

    def test_nothing_to_move(self):
        self.need("git")
        self.assertEqual(self.found(), {})
        self.assertNotIn("import", self.program("init", "--force").out)

    def test_the_command_that_it_says_works(self):
        self.need("git")
        (self.dir / "it's.jsonl").write_text(lines(9, 5000))
        command = shlex.split(self.found()["it's.jsonl"]["command"])
        config = json.loads("\n".join(line for line in (self.dir / "nightgate.json").read_text().splitlines()
                                      if not line.lstrip().startswith("//")))
        config["state"] = "state"
        (self.dir / "nightgate.json").write_text(json.dumps(config))
        self.assertEqual(self.program(*command[1:], "--json").json()["nights"], 9)


class FirstNight(ProjectCase):
    """The night after the import is judged by what was measured before nightgate came."""

    def moved_in(self, level):
        self.project([(level, 5), (level, 5)], aliases={"memory.work": OPS})
        (self.dir / "perf.jsonl").write_text(lines(12, 1000))
        self.program("import", "perf.jsonl", "--machine", "bench-1")

    def test_nights_of_another_machine_are_named_not_shown_as_nothing(self):
        self.project([(1000, 5)])
        (self.dir / "perf.jsonl").write_text(lines(3, 1000))
        said = self.program("import", "perf.jsonl", "--machine", "bench-7").out
        self.assertIn("nightgate status --machine bench-7", said)
        self.assertIn("bench-7", self.program("history", code=2).err)
        self.assertIn("memory.work", self.program("history", "--machine", "bench-7").out)

    def test_a_good_one(self):
        self.moved_in(1000)
        night = self.night(1)
        self.assertEqual(self.verdicts(night)[OPS], "good")
        self.assertEqual(self.verdicts(night)["default.work.lag"], "warming_up")  # not in that history
        metric = next(m for m in night["metrics"] if m["metric"] == OPS)
        self.assertAlmostEqual(metric["baseline"], 1000, delta=20)
        again = self.program("import", "perf.jsonl", "--machine", "bench-1", "--json").json()
        self.assertEqual((again["nights"], again["already_there"]), (0, 12))
        series = self.program("history", OPS, "--json").json()["metrics"][0]
        self.assertEqual(len(series["nights"]), 13)

    def test_a_slower_one(self):
        self.moved_in(600)
        self.assertEqual(self.verdicts(self.night(1))[OPS], "suspect")
        second = self.night(2, code=1)
        self.assertEqual(self.verdicts(second)[OPS], "trip")

    def test_an_earlier_stretch_is_judged_and_decided_about_like_any_other(self):
        self.moved_in(1000)
        earlier = lines(12, 1000).replace("2026-02-", "2026-01-").replace('"sha": "', '"sha": "a')
        (self.dir / "earlier.jsonl").write_text(earlier)
        said = self.program("import", "earlier.jsonl", "--machine", "bench-1", "--json").json()
        self.assertEqual((said["nights"], said["nights_judged"]), (12, 24))
        first = said["machines"][0]["first_night"]
        self.assertLess(first, 0)
        explained = self.program("history", OPS, "--explain", str(first + 8), "--json").json()
        self.assertEqual(explained["verdict"], "good")
        self.program("report", "night", str(first + 8), "--format", "markdown")
        self.program("void", str(first + 8), "--reason", "another program ran")
        self.assertIn("empty reason", self.program("void", str(first + 9), "--reason", " ", code=2).err)
        self.assertIn("bench-1", self.program("void", "3", "--reason", "x", "--machine", "bench-9", code=2).err)

    def test_an_alias_declared_after_the_import(self):
        project = self.project([(1000, 5)])
        (self.dir / "perf.jsonl").write_text(lines(12, 1000))
        self.program("import", "perf.jsonl", "--machine", "bench-1")
        project.config["aliases"] = {"memory.work": OPS}
        project.write_config()
        again = self.program("import", "perf.jsonl", "--machine", "bench-1", "--json").json()
        self.assertEqual(again["already_there"], 12)
        self.assertEqual(self.verdicts(self.night(1))[OPS], "good")


if __name__ == "__main__":
    unittest.main()
