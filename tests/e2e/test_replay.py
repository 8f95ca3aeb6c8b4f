"""replay, import and export on small histories made here, and on the recorded ones where they are at hand."""
import csv
import io
import unittest
from pathlib import Path

import support
from project import ProjectCase

SHARED = support.ROOT.parent / "shared" / "histories"
HEAD = "time,commit,machine,metric,unit,better,value\n"


def history(values, metric="db.create", better="higher"):
    rows = [f"2026-{1 + n // 28:02d}-{1 + n % 28:02d}T02:00:00Z,{n:08x},m1,{metric},1/s,{better},{v}" for n, v in enumerate(values)]
    return HEAD + "\n".join(rows) + "\n"


def noisy(level, count, seed=1):
    state, out = seed, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % (1 << 31)
        out.append(round(level * (1 + 0.02 * (state / (1 << 31) - 0.5)), 3))
    return out


class Replay(ProjectCase):
    def replay(self, text, *options, **more):
        (self.dir / "h.csv").write_text(text)
        return self.program("replay", "h.csv", "--json", *options, **more)

    def test_a_step_trips_on_the_second_night_and_a_repair_is_seen(self):
        values = noisy(1000, 30) + noisy(700, 5, 2) + noisy(1000, 10, 3)
        document = self.replay(history(values)).json()
        self.assertEqual(document["nights"], 45)
        self.assertEqual(len(document["trips"]), 1, document)
        trip = document["trips"][0]
        self.assertEqual((trip["metric"], trip["kind"]), ("db.create", "step"))
        self.assertEqual((trip["suspect_at"], trip["tripped_at"]), ("2026-02-03T02:00:00Z", "2026-02-04T02:00:00Z"))
        self.assertAlmostEqual(trip["change"], -0.3, delta=0.03)
        self.assertEqual(trip["recovered_at"], "2026-02-08T02:00:00Z")

    def test_direction_is_the_metrics(self):
        values = noisy(1000, 30) + noisy(700, 5, 2)
        document = self.replay(history(values, better="lower")).json()
        self.assertEqual(document["trips"], [])
        self.assertEqual(len(document["gains"]), 1)

    def test_bad_files_are_refused_by_line(self):
        good = history(noisy(1000, 10))
        lines = good.splitlines()
        cases = {"empty": "", "cut off": good[:-9], "nan": good.replace(lines[4].split(",")[-1], "nan"),
                 "negative": good.replace(lines[4].split(",")[-1], "-5"), "zero": good.replace(lines[4].split(",")[-1], "0"),
                 "duplicate": good + lines[3] + "\n"}
        for name, text in cases.items():
            with self.subTest(name):
                (self.dir / "h.csv").write_text(text)
                ran = self.program("replay", "h.csv", code=None)
                self.assertTrue(ran.code == 2 or "line" in ran.err, str(ran))

    def test_import_export_is_the_same_history(self):
        self.project([(1000, 5)])
        text = history(noisy(1000, 20))
        (self.dir / "in.csv").write_text(text)
        said = self.program("import", "in.csv", "--json").json()
        self.assertEqual((said["nights"], said["values"], said["nights_judged"]), (20, 20, 20))
        again = self.program("import", "in.csv", "--json").json()
        self.assertEqual((again["nights"], again["already_there"]), (0, 20))
        for name in ("out.csv", "out.jsonl"):
            self.program("export", name)
            (self.dir / "twice").mkdir(exist_ok=True)
        rows = list(csv.DictReader(io.StringIO((self.dir / "out.csv").read_text())))
        self.assertEqual(rows, [dict(r) for r in csv.DictReader(io.StringIO(text))])
        self.assertEqual(self.program("replay", "out.jsonl", "--json").json()["nights"], 20)

    def test_an_import_that_differs_from_what_is_kept_is_refused(self):
        self.project([(1000, 5)])
        values = noisy(1000, 12)
        (self.dir / "in.csv").write_text(history(values))
        self.program("import", "in.csv")
        (self.dir / "other.csv").write_text(history(values[:5] + [values[5] + 1] + values[6:]))
        self.assertIn("2026-01-06T02:00:00Z", self.program("import", "other.csv", code=2).err)
        (self.dir / "more.csv").write_text(history(values) + history(values, metric="db.lag")[len(HEAD):])
        self.assertIn("db.lag", self.program("import", "more.csv", code=2).err)

    def test_trips_belong_to_their_machine(self):
        self.project([(1000, 5)])
        rows = history(noisy(1000, 12) + noisy(600, 3, 2)) + history(noisy(1000, 15, 3)).replace(",m1,", ",m2,")[len(HEAD):]
        (self.dir / "in.csv").write_text(rows)
        self.program("import", "in.csv")
        self.program("status", "--machine", "m1", code=1)
        self.program("status", "--machine", "m2", code=0)
        self.program("status", "--machine", "m3", code=2)

    def test_a_bad_import_changes_nothing(self):
        self.project([(1000, 5)])
        (self.dir / "in.csv").write_text(history(noisy(1000, 20)) + "2026-09-01T02:00:00Z,ff,m1,db.create,1/s,higher,-3\n")
        self.program("import", "in.csv", code=2)
        self.assertEqual(self.program("store", "status", "--json").json()["nights"], 0)

    def test_the_recorded_nightly(self):
        """A real project's nightly (SEAMWARE/coraine, branch perf-history): what must trip, and nothing else."""
        file = SHARED / "coraine-nightly-long.csv"
        if not file.exists():
            self.skipTest("no ../shared/histories here")
        document = self.program("replay", file, "--json").json()
        trips = {t["metric"]: t for t in document["trips"]}
        must = {"mongoc.create_c50", "mongoc.create_c1"}
        self.assertLessEqual(must, set(trips))
        self.assertLessEqual(set(trips), must | {"corDB.create_c50"})
        self.assertEqual(len(trips), len(document["trips"]))
        for trip in trips.values():
            self.assertEqual(trip["suspect_at"], "2026-09-24T21:38:52Z")
            self.assertEqual(trip["tripped_at"], "2026-09-25T16:02:05Z")
            self.assertEqual(trip["recovered_at"], "2026-09-28T10:16:31Z")


if __name__ == "__main__":
    unittest.main()
