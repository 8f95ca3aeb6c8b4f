"""Every --json document fits its schema, and is the only thing on stdout."""
import json
import unittest

import support
from project import ProjectCase

GOOD, SLOW = (1000, 5), (660, 5)
OPS = "default.work.ops"


class Documents(ProjectCase):
    def fits(self, ran, verb):
        import jsonschema
        document = ran.json()
        schema = json.loads((support.ROOT / "config/schemas" / f"{verb}.schema.json").read_text())
        jsonschema.validate(document, schema)
        return document

    def test_all(self):
        project = self.project([GOOD] * 9 + [SLOW] * 3, night={"starts": 2, "bisect": False, "min_gap_hours": 0,
                                                                "control": "builds"})
        del project.config["night"]["control"]
        project.write_config()
        self.fits(self.program("check", "--json"), "check")
        self.warm_up(7)
        self.fits(self.program("nightly", "--json"), "nightly")
        project.main_at(11)
        self.fits(self.program("nightly", "--json"), "nightly")
        project.main_at(12)
        self.fits(self.program("nightly", "--json", code=1), "nightly")
        self.fits(self.program("status", "--json", code=1), "status")
        self.fits(self.program("bisect", "--trip", "1", "--json"), "bisect")
        self.fits(self.program("nightly", "--json", code=1), "nightly")
        self.fits(self.program("replay", "--json"), "replay")
        self.fits(self.program("simulate", "--merges", "16", "--runs", "5", "--json"), "simulate")
        self.fits(self.program("measure", project.commits[0], "--json"), "measure")
        self.fits(self.program("compare", project.commits[0], project.commits[11], "--json", code=1), "compare")
        self.fits(self.program("nightly", "--json", "--config", "absent.json", code=2), "error")
        self.fits(self.program("bisect", "--good", project.commits[0], "--bad", project.commits[5], "--metric", OPS, "--json", code=4), "bisect")


class Compare(ProjectCase):
    def compare(self, base, head, *options, code=None):
        """The document. What a program of three milliseconds costs in CPU is a metric too, and may stay undecided."""
        return self.program("compare", base, head, "--json", "--quiet", *options, code=code).json()

    def metric(self, document, name):
        return next(m for m in document["metrics"] if m["metric"] == name)

    def test_worse_in_the_right_metric_only(self):
        project = self.project([GOOD, SLOW])
        document = self.compare(*project.commits, code=1)
        self.assertEqual(document["verdict"], "worse")
        self.assertEqual(self.metric(document, OPS)["verdict"], "worse")
        self.assertAlmostEqual(self.metric(document, OPS)["change"], -0.34, delta=0.03)
        self.assertEqual(self.metric(document, "default.work.lag")["verdict"], "same")

    def test_the_same_speed_is_the_same(self):
        project = self.project([GOOD, GOOD])
        document = self.compare(*project.commits)
        self.assertEqual(self.metric(document, OPS)["verdict"], "same")
        self.assertNotEqual(document["verdict"], "worse")

    def test_better(self):
        project = self.project([SLOW, GOOD])
        document = self.compare(*project.commits)
        self.assertEqual(self.metric(document, OPS)["verdict"], "better")
        self.assertNotEqual(document["verdict"], "worse")

    def test_the_same_target_is_said_and_not_judged(self):
        project = self.project([GOOD])
        document = self.compare(project.commits[0], project.commits[0], code=0)
        self.assertEqual(document["measurements"], 0)
        self.assertIn("same target", document["heads"][0]["reason"])

    def test_a_head_that_breaks_in_one_pair_is_void_there(self):
        flaky = ("#!/bin/sh\nn=$(cat {d}/count 2>/dev/null || echo 0); echo $((n + 1)) > {d}/count\n"
                 "if [ $n -eq 7 ]; then echo 'out of cheese' >&2; exit 1; fi\n").format(d=self.dir)
        from project import BENCH
        project = self.project([GOOD, flaky + BENCH.format(ops=1000, lag=5, speed=self.dir / "speed")])
        # Counting costs this head CPU time, which is a metric of its own: only the figures that it prints are the same.
        document = self.program("compare", *project.commits, "--json", "--quiet", code=None).json()
        self.assertEqual(self.metric(document, OPS)["verdict"], "same")
        self.assertEqual(len(document["void_pairs"]), 1)
        self.assertIn("out of cheese", document["void_pairs"][0])

    def test_a_machine_that_differs_from_itself_is_refused(self):
        """In one figure: that one is not judged. In all: nothing is. Either after a second look."""
        wild = ("#!/bin/sh\nn=$(cat {d}/count 2>/dev/null || echo 0); echo $((n + 1)) > {d}/count\n"
                "echo \"{{\\\"ops\\\": $((1000 + (n / 3 % 2) * 900)), \\\"lag\\\": {lag}}}\"\n")
        project = self.project([wild.format(d=self.dir, lag=5), GOOD])
        for cost in ("cpu_us",):  # what a program of milliseconds costs is not what this is about
            project.config["scenarios"]["work"]["metrics"][cost] = {"unit": "x", "better": "lower", "gated": False}
        project.write_config()
        document = self.compare(*project.commits, code=4)
        self.assertEqual((document["verdict"], document["aa_complaint"], document["aa_retried"]), ("no_verdict", "", True))
        self.assertIn("differs from itself", self.metric(document, OPS)["reason"])
        self.assertEqual(self.metric(document, "default.work.lag")["verdict"], "same")
        (self.dir / "count").unlink()
        worse = project.merge(wild.format(d=self.dir, lag="$((5 + (n / 3 % 2) * 4))"))
        document = self.compare(worse, project.commits[1], code=3)
        self.assertEqual(document["verdict"], "no_verdict")
        self.assertIn(OPS, document["aa_complaint"])

    def test_a_relative_program_is_the_targets_own(self):
        """A program beside the config would measure alike for every version."""
        project = self.project([GOOD, SLOW])
        project.config["scenarios"]["work"]["load"]["command"] = ["./bench"]
        project.write_config()
        (self.dir / "bench").write_text('#!/bin/sh\necho \'{"ops": 777, "lag": 7}\'\n')
        (self.dir / "bench").chmod(0o755)
        document = self.compare(*project.commits, code=1)
        self.assertEqual(self.metric(document, OPS)["verdict"], "worse")
        for commit in project.commits:
            (self.dir / "builds" / commit / "bench").unlink()
        ran = self.program("measure", project.commits[0], "--json", code=3)
        self.assertIn("in the target's directory", ran.out)

    def test_a_figure_whose_direction_nobody_said_is_not_judged(self):
        text = "#!/bin/sh\necho '{{\"turns\": {0}, \"elapsed\": {0}, \"size_mb\": 3}}'\n"
        project = self.project([text.format(100), text.format(200)])
        project.config["scenarios"]["work"]["load"]["command"] = ["./bench"]
        del project.config["scenarios"]["work"]["metrics"]
        project.write_config()
        ran = self.program("compare", *project.commits, "--json", code=1)
        verdicts = {m["metric"]: m["verdict"] for m in ran.json()["heads"][0]["metrics"]}
        self.assertEqual(verdicts["default.work.elapsed"], "worse")
        self.assertNotIn("default.work.turns", verdicts)
        self.assertIn("'turns'", ran.err)

    def test_what_was_measured_is_printed_also_where_it_can_not_be_kept(self):
        project = self.project([GOOD, GOOD])
        ran = self.program("compare", *project.commits, "--json", "--quiet", "--html", "no/such/folder/page.html", code=3)
        self.assertEqual(ran.json()["schema"], "nightgate-compare/1")
        self.assertIn("could not be kept", ran.err)

    def test_what_was_tried_is_in_the_ledger(self):
        project = self.project([GOOD, SLOW])
        self.program("compare", *project.commits, "--label", "bigger cache", "--note", "64 MiB", "--quiet", code=1)
        entry = self.program("ledger", "--json").json()["entries"][0]
        self.assertEqual((entry["label"], entry["verdict"]), ("bigger cache", "candidate"))
        self.program("ledger", str(entry["id"]), "--verdict", "dropped", code=2)
        self.program("ledger", str(entry["id"]), "--verdict", "dropped", "--reason", "a third slower")
        self.assertIn("Tried and dropped", self.program("ledger", "--format", "markdown").out)
        self.assertEqual(self.program("ledger", "--json").json()["entries"][0]["why"], "a third slower")


if __name__ == "__main__":
    unittest.main()
