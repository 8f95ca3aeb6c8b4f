"""Nights from end to end: warming up, nothing to do, suspect, trip, culprit, recovery, and what could not be measured."""
import json
import subprocess
import unittest
from pathlib import Path

import server
from project import ProjectCase
from support import PROGRAM

OPS, LAG = "default.work.ops", "default.work.lag"
GOOD, SLOW = (1000, 5), (660, 5)


class Night(ProjectCase):
    def test_the_incident(self):
        """A merge in the middle of twelve costs a third of the throughput; it is named."""
        levels = [GOOD] * 12 + [SLOW] * 10
        self.project(levels)
        first = self.night(1)
        self.assertEqual(first["schema"], "nightgate-nightly/1")
        self.assertEqual(self.verdicts(first), {OPS: "warming_up", LAG: "warming_up"})
        for number in range(2, 8):
            document = self.night(number)
        self.assertEqual(document["verdict"], "good")

        suspect = self.night(19)
        self.assertEqual(self.verdicts(suspect)[OPS], "suspect")
        self.assertEqual(self.verdicts(suspect)[LAG], "good")
        self.assertEqual(suspect["verdict"], "suspect")
        self.assertEqual(self.program("status", "--json").json()["suspect"][0]["metric"], OPS)

        trip = self.night(20, code=1)
        self.assertEqual(self.verdicts(trip)[OPS], "trip")
        self.assertEqual(len(trip["open_trips"]), 1)
        answer = trip["open_trips"][0]["answer"]
        self.assertEqual(answer["outcome"], "culprit", answer)
        self.assertEqual(answer["culprit"]["commit"], self.made.commits[12])
        self.assertEqual(answer["culprit"]["pr"], 113)
        self.assertEqual(answer["culprit"]["author"], "Ada Lindqvist")
        self.assertAlmostEqual(answer["change"], -0.34, delta=0.04)
        self.assertGreaterEqual(answer["probability"], 0.99)
        pages = {p.name for p in (self.dir / "state" / "report").iterdir()}
        self.assertIn("trip-1.html", pages)
        self.assertIn("Change number 13", (self.dir / "state/report/trip-1.html").read_text())
        # The page of `report` says the same as the one that the night wrote, also that these nights are minutes apart.
        self.assertIn("minutes apart", self.program("report", "trip", "1").out)
        self.assertEqual(self.program("status", code=1).code, 1)

        self.made.merge(GOOD)  # the repair
        self.night(23, code=1)
        recovered = self.night(23)
        self.assertEqual(self.verdicts(recovered)[OPS], "recovered")
        self.program("status", code=0)

    def test_old_samples_are_folded_away_and_it_is_said(self):
        self.project([GOOD] * 3)
        self.warm_up(3)
        self.assertIn("--older-than", self.program("store", "fold", code=2).err)
        self.assertEqual(self.program("store", "fold", "--older-than", "1", "--json").json()["samples"], 0)
        history = self.program("history", OPS, "--json").json()["metrics"]
        # As if those nights were long ago.
        base = Path(self.dir / "state/postgres").resolve()
        server.run_as_postgres(server.postgres_programs() / "pg_ctl", "-D", base / "data", "-l", base / "log", "-w", "start")
        server.sql(base / "socket", "UPDATE nightgate.run SET started = started - interval '400 days'")
        server.run_as_postgres(server.postgres_programs() / "pg_ctl", "-D", base / "data", "-m", "fast", "-w", "stop")
        said = self.program("store", "fold", "--older-than", "365", "--dry-run").out
        self.assertRegex(said, r"would remove \d+ samples of 18 repeats in 6 measurements")
        self.assertIn(said.removeprefix("would remove").split(" from ")[0], self.program("store", "fold", "--older-than", "365").out)
        self.assertIn("removed 0 samples", self.program("store", "fold", "--older-than", "365").out)
        self.assertEqual(self.program("history", OPS, "--json").json()["metrics"], history)
        self.assertEqual(self.night(3)["night"], 4)

    def test_nothing_new_is_not_measured_again(self):
        self.project([GOOD] * 8)
        self.warm_up(7)
        again = self.night(7)
        self.assertEqual(again["verdict"], "nothing_to_do")
        self.assertEqual(again["night"], 7)
        forced = self.program("nightly", "--force", "--json").json()
        self.assertEqual(forced["night"], 8)

    def test_the_same_version_is_never_a_suspect(self):
        self.project([GOOD] * 8)
        self.warm_up(7)
        self.made.speed.write_text("0.6")
        for _ in range(3):
            document = self.program("nightly", "--force", "--json", code=None).json()
            self.assertNotIn("suspect", self.verdicts(document).values())
            self.assertNotIn("trip", self.verdicts(document).values())

    def test_a_new_definition_is_a_new_level_and_never_trips(self):
        project = self.project([GOOD] * 8 + [SLOW] * 4)
        self.warm_up(7)
        project.config["scenarios"]["work"]["load"]["command"].append("--new-data")
        project.write_config()
        changed = self.night(9)
        self.assertIn(self.verdicts(changed)[OPS], ("new_level", "warming_up"))
        for number in (10, 11, 12):
            self.assertNotIn("trip", self.verdicts(self.night(number)).values())

    def test_metrics_that_fell_together_are_one_group(self):
        self.project([GOOD] * 8 + [(650, 8)] * 4)
        self.warm_up(7)
        self.night(10)
        trip = self.night(11, code=1)
        self.assertEqual(len(trip["open_trips"]), 1)
        self.assertEqual({m["metric"] for m in trip["open_trips"][0]["metrics"]}, {OPS, LAG})
        answer = trip["open_trips"][0]["answer"]
        self.assertEqual(answer["culprit"]["commit"], self.made.commits[8])

    def test_a_control_takes_the_machine_out(self):
        """Half the machine for one night: with a control the night is good."""
        project = self.project([GOOD] * 9)
        project.config["night"]["control"] = str(self.dir / "builds" / project.commits[0])
        project.write_config()
        self.warm_up(7)
        project.speed.write_text("0.5")
        document = self.night(8)
        self.assertEqual(set(self.verdicts(document).values()), {"good"})
        # It opens the night against itself, and how far apart its starts lay is told and kept.
        self.assertRegex(" ".join(document["notes"]), r"A/A of the control.*default\.work\.ops \d+\.\d %")
        page = self.program("report", "night", "8").out
        self.assertIn("default.work (control, A/A)", page)
        self.assertIn("Control against itself", page)
        # A line per finished start: median, spread, baseline.
        self.assertRegex(self.program("nightly", "--force", code=None).err,
                         r"default\.work start 1: .*ops [\d,]+ 1/s \(spread \d+\.\d %\), baseline [\d,]+")

    def test_without_a_control_a_slow_machine_is_never_good_by_luck(self):
        project = self.project([GOOD] * 9)
        self.warm_up(7)
        project.speed.write_text("0.5")
        document = self.night(8, code=None)
        self.assertNotIn("good", self.verdicts(document).values())
        self.assertNotIn("trip", self.verdicts(document).values())

    def test_a_missing_target_is_stepped_around(self):
        levels = [GOOD] * 10 + [SLOW] * 8
        levels[8] = None
        self.project(levels)
        self.warm_up(7)
        self.night(16)
        answer = self.night(17, code=1)["open_trips"][0]["answer"]
        self.assertEqual(answer["culprit"]["commit"], self.made.commits[10])
        self.assertEqual([s["commit"] for s in answer["skipped"]], [self.made.commits[8]])

    def test_a_culprit_without_a_target_is_a_range(self):
        levels = [GOOD] * 10 + [SLOW] * 8
        levels[10] = None
        self.project(levels)
        self.warm_up(7)
        self.night(16)
        answer = self.night(17, code=1)["open_trips"][0]["answer"]
        self.assertEqual(answer["outcome"], "range")
        self.assertEqual(answer["range"], [self.made.commits[10], self.made.commits[11]])
        self.assertIsNone(answer["culprit"])

    def test_a_broken_version_is_no_verdict(self):
        broken = "#!/bin/sh\necho 'cannot open the index file' >&2\nexit 1\n"
        self.project([GOOD] * 7 + [broken] + [GOOD])
        self.warm_up(7)
        document = self.night(8, code=3)
        self.assertEqual(document["verdict"], "no_verdict")
        self.assertIn("cannot open the index file", json.dumps(document["failures"]))
        status = self.program("status", "--json", code=4).json()  # no verdict is never a pass
        self.assertEqual(status["nights"][0]["state"], "no verdict")
        self.assertEqual(self.night(9)["verdict"], "good")

    def test_a_metric_that_is_gone_is_named(self):
        only_one = "#!/bin/sh\necho '{\"ops\": 1000.5}'\n"
        self.project([GOOD] * 7 + [only_one])
        self.warm_up(7)
        document = self.night(8, code=None)
        missing = [m for m in document["metrics"] if m["metric"] == LAG] or [f for f in document["failures"] if "lag" in f["why"]]
        self.assertTrue(missing, document)
        self.assertIn(document["exit_code"], (3, 4))

    def test_accept_keeps_the_slower_level_and_undo_takes_it_back(self):
        self.project([GOOD] * 8 + [SLOW] * 6, night={"bisect": False})
        self.warm_up(7)
        self.night(9)
        self.night(10, code=1)
        self.program("accept", "default.work.opps", "--reason", "x", code=2)
        self.program("accept", OPS, "--reason", "every write is checked now")
        self.program("status", code=0)
        self.program("undo")
        self.program("status", code=1)
        self.program("accept", OPS, "--reason", "every write is checked now")
        self.assertEqual(self.night(11)["verdict"], "good")

    def test_a_voided_night_does_not_count(self):
        self.project([GOOD] * 8 + [SLOW] * 6, night={"bisect": False})
        self.warm_up(7)
        suspect = self.night(9)
        self.assertEqual(suspect["verdict"], "suspect")
        self.program("void", str(suspect["night"]), "--reason", "a backup ran")
        self.assertEqual(self.night(10)["verdict"], "suspect")  # the first bad one that counts

    def test_a_voided_night_takes_its_trip_along(self):
        self.project([GOOD] * 8 + [SLOW] * 6, night={"bisect": False})
        self.warm_up(7)
        self.night(9)
        tripped = self.night(10, code=1)
        self.program("void", str(tripped["night"]), "--reason", "a backup ran")
        self.assertEqual(self.program("status", "--json", code=0).json()["red"], [])
        self.program("undo")
        self.assertEqual(len(self.program("status", "--json", code=1).json()["red"]), 1)

    def test_an_accept_holds_when_its_night_or_an_earlier_one_is_voided(self):
        self.project([GOOD] * 8 + [SLOW] * 9, night={"bisect": False})
        self.warm_up(7)
        first = self.night(9)
        self.night(10, code=1)
        last = self.night(11, code=1)
        self.program("accept", OPS, "--reason", "the price of a feature")
        for night in (first, last):
            self.program("void", str(night["night"]), "--reason", "a backup ran")
            self.assertEqual(self.program("status", "--json", code=0).json()["red"], [], night["night"])
        self.assertEqual(self.verdicts(self.night(12))[OPS], "good")

    def test_an_accept_under_the_old_name_of_a_renamed_metric(self):
        project = self.project([GOOD] * 8 + [SLOW] * 6, night={"bisect": False})
        self.warm_up(7)
        self.night(9)
        self.night(10, code=1)
        project.config["scenarios"] = {"job": project.config["scenarios"]["work"]}
        project.config["aliases"] = {OPS: "default.job.ops", LAG: "default.job.lag"}
        project.write_config()
        self.program("accept", OPS, "--reason", "the price of a feature")
        self.assertEqual(self.program("status", "--json").json()["red"], [])
        self.assertEqual(self.verdicts(self.night(11))["default.job.ops"], "good")

    def test_output_into_a_device_or_through_a_link_replaces_neither(self):
        self.project([GOOD])
        self.night(1)
        self.program("export", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())
        (self.dir / "link.csv").symlink_to(self.dir / "real.csv")
        (self.dir / "real.csv").write_text("")
        self.program("export", "link.csv")
        self.assertTrue((self.dir / "link.csv").is_symlink())
        self.assertIn(OPS, (self.dir / "real.csv").read_text())
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([PROGRAM, "status"], cwd=self.dir, stdout=full).returncode, 3)
        self.program("history", "--machine", "elsewhere", code=2)

    def test_a_machine_without_nights_is_no_pass_where_others_have_some(self):
        project = self.project([GOOD])
        self.assertIn("nothing red", self.program("status").out)
        self.night(1)
        project.config["machine"]["name"] = "bench-2"
        project.write_config()
        status = self.program("status", code=4).out
        self.assertIn("NO VERDICT", status)
        self.assertIn("status --machine bench-1", status)

    def test_a_renamed_metric_takes_its_open_trip_along(self):
        project = self.project([GOOD] * 8 + [SLOW] * 2 + [GOOD] * 2)
        self.warm_up(8)
        self.night(9)
        self.night(10, code=1)
        project.config["scenarios"] = {"job": project.config["scenarios"]["work"]}
        project.config["aliases"] = {OPS: "default.job.ops", LAG: "default.job.lag"}
        project.write_config()
        self.night(11, code=1)
        self.assertEqual(self.program("status", "--json", code=1).json()["red"][0]["metrics"][0]["metric"],
                         "default.job.ops")
        repaired = self.night(12)
        self.assertEqual(repaired["open_trips"], [])
        series = self.program("history", "default.job.ops", "--json").json()
        self.assertEqual(len(series["metrics"][0]["nights"]), 12)

    def test_history_explains(self):
        self.project([GOOD] * 8)
        self.warm_up(7)
        explained = self.program("history", OPS, "--explain", "7").out
        for word in ("baseline", "noise", "machine"):
            self.assertIn(word, explained)
        self.assertLess(explained.index("  value"), explained.index("  change"))  # in reading order
        self.program("history", "default.work.op", code=2)
        series = self.program("history", OPS, "--json").json()
        self.assertEqual(len(series["metrics"][0]["nights"]), 7)


class Refusals(ProjectCase):
    def test_exit_code_2_names_what_is_wrong(self):
        project = self.project([GOOD] * 3)
        self.program("nightly", "--config", "absent.json", code=2)
        self.program("bisect", "--good", "main~2", "--bad", "main", code=2)
        ran = self.program("bisect", "--good", "0123456789", "--bad", "main", "--metric", OPS, code=2)
        self.assertIn("0123456789", ran.err)
        ran = self.program("bisect", "--good", project.commits[2], "--bad", project.commits[0], "--metric", OPS, code=2)
        self.assertIn("newer", ran.err)
        self.program("nonsense", code=2)

    def test_a_second_nightgate_waits_or_says_who_measures(self):
        project = self.project([GOOD, "#!/bin/sh\nsleep 3\necho '{\"ops\": 1000, \"lag\": 5}'\n"], machine={"wait_minutes": 0})
        project.main_at(2)
        first = self.start([PROGRAM, "nightly", "--quiet"], cwd=self.dir)
        for _ in range(100):
            if first.poll() is not None or (self.dir / "state").exists():
                break
        import time
        time.sleep(1)
        second = self.program("nightly", "--json", code=3)
        self.assertIn("nightgate nightly", second.err)
        first.wait(60)


if __name__ == "__main__":
    unittest.main()
