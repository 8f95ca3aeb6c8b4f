"""What `bisect` and `simulate` take and say: arguments before the lock, ends of every kind, reverts, noise that is known.

The figures are made (project.py); test_bisect.py measures."""
import fcntl
import time
import unittest
from pathlib import Path

import support
from project import ProjectCase

OPS = "default.work.ops"
GOOD, SLOW = (1000, 5), (660, 5)


def lock_file():
    """Where gate/measure/host_lock.cpp keeps it."""
    for directory in ("/run/lock", "/tmp"):
        if Path(directory).is_dir() and Path(directory).stat().st_mode & 0o002:
            return Path(directory) / "nightgate.lock"
    raise AssertionError("no directory for the lock")


class WhileAnotherMeasures(ProjectCase):
    def refused(self, *arguments, says):
        began = time.monotonic()
        ran = self.program(*arguments, code=2, timeout=60)
        self.assertIn(says, ran.err)
        self.assertNotIn("waiting up to", ran.err)
        self.assertLess(time.monotonic() - began, 30)

    def test_wrong_arguments_end_at_once(self):
        project = self.project([GOOD] * 3)
        first, last = project.commits[0], project.commits[-1]
        if not lock_file().exists():
            lock_file().touch()
            lock_file().chmod(0o666)  # as nightgate makes it
        held = open(lock_file(), "r+")  # noqa: SIM115
        self.addCleanup(held.close)
        fcntl.flock(held, fcntl.LOCK_EX)
        ends = ("--good", first, "--bad", last)
        self.refused("bisect", *ends, "--metric", "default.wrok.ops", says="did you mean default.work.ops")
        self.refused("bisect", *ends, "--metric", "default.work.opz", says="did you mean default.work.ops")
        self.refused("bisect", "--good", "nothing", "--bad", last, "--metric", OPS, says='called "nothing"')
        self.refused("bisect", "--good", last, "--bad", first, "--metric", OPS, says="swap them")
        self.refused("bisect", "--good", first, "--bad", first, "--metric", OPS, says="the range is empty")
        self.refused("bisect", "--good", "night:3", "--bad", last, "--metric", OPS, says="no night 3")
        self.refused("bisect", "--good", "night:x", "--bad", last, "--metric", OPS, says="write night:12")
        self.refused("bisect", "--good", "last-good", "--bad", last, "--metric", OPS, says="no last-good")
        self.refused("bisect", "--trip", "7", says="no trip 7")
        self.refused("bisect", "--resume", "7", says="no bisect 7")
        self.refused("compare", first, "nothing", says='"nothing"')
        self.refused("compare", first, last, "--scenario", "wrok", says="did you mean work")
        self.refused("release", first, "nothing", says='"nothing"')
        self.refused("release", first, last, "--scenario", "wrok", says="did you mean work")
        self.refused("measure", "nothing", says='"nothing"')
        # What is right waits for the lock, and says so.
        project.config["machine"]["wait_minutes"] = 0
        project.write_config()
        ran = self.program("bisect", *ends, "--metric", OPS, code=3)
        self.assertIn("nightgate", ran.err)


class Ends(ProjectCase):
    def test_of_every_kind(self):
        project = self.project([GOOD] * 9 + [SLOW] * 5)
        for number in (1, 3, 5, 6, 7, 8, 9):
            self.night(number)
        self.night(12)
        project.git("tag", "v1", project.commits[4])
        for good, bad, merges in (("last-good", "night:8", 3), ("night:3", "main", 7), ("v1", "2026-03-14", 7),
                                  ("2026-03-06T12:00:00Z", project.commits[11][:9], 8)):
            with self.subTest(good=good, bad=bad):
                document = self.program("bisect", "--good", good, "--bad", bad, "--metric", OPS, "--json").json()
                self.assertEqual(document["merges"], merges)
                self.assertEqual(document["culprit"]["commit"], project.commits[9])
                self.assertEqual(document["culprit"]["files"], ["version"])
                self.assertIn("the last 8 nights", document["noise_source"])

    def test_force_search_is_unverified(self):
        project = self.project([GOOD] * 3 + [SLOW] * 3)
        ends = ("--good", project.commits[0], "--bad", project.commits[-1], "--metric", OPS)
        ran = self.program("bisect", *ends, "--force-search", "--json")
        document = ran.json()
        self.assertFalse(document["verified"])
        self.assertNotIn("reproduce", {block["phase"] for block in document["blocks"] if block["block"] >= 0})
        self.assertEqual(document["culprit"]["commit"], project.commits[3])
        self.assertTrue(self.program("bisect", *ends, "--json").json()["verified"])
        self.assertIn("unverified", self.program("bisect", *ends, "--force-search").out)

    def test_reverts_are_shown(self):
        """The slow merge is taken back, and the taking back is taken back."""
        project = self.project([GOOD] * 3 + [SLOW])
        slow = project.commits[-1]
        project.merge(GOOD, f'Revert "Change number 4"\n\nThis reverts commit {slow}.\n')
        back = project.commits[-1]
        for _ in range(2):
            project.merge(GOOD)
        project.merge(SLOW, f'Revert "Revert Change number 4"\n\nThis reverts commit {back}.\n')
        again = project.commits[-1]
        project.merge(SLOW)
        ran = self.program("bisect", "--good", back, "--bad", project.commits[-1], "--metric", OPS)
        self.assertIn(f"it reverts {back[:10]}", ran.out)
        self.assertIn("it touched version", ran.out)
        self.assertIn(f"{again[:10]} reverts {back[:10]}", ran.err)
        document = self.program("bisect", "--good", project.commits[0], "--bad", slow, "--metric", OPS, "--json").json()
        self.assertEqual(document["culprit"]["commit"], slow)
        whole = self.program("bisect", "--good", project.commits[0], "--bad", project.commits[-1], "--metric", OPS,
                             "--json", code=None).json()
        by_commit = {point["commit"]: point for point in whole["points"]}
        self.assertEqual(by_commit[slow]["reverted_by"], back)
        self.assertEqual((by_commit[back]["reverts"], by_commit[back]["reverted_by"]), (slow, again))
        self.assertNotIn("reverted_by", by_commit[again])


class Noise(ProjectCase):
    def test_what_is_known_is_used_and_named(self):
        project = self.project([GOOD] * 3 + [SLOW] * 3)
        ends = ("--good", project.commits[0], "--bad", project.commits[-1], "--metric", OPS, "--json")
        self.assertIn("pilot", self.program("bisect", *ends).json()["noise_source"])
        ran = self.program("simulate", "--metric", OPS, "--runs", "5", code=2)
        self.assertIn("check --noise", ran.err)
        seen = {m["metric"]: m for m in self.program("check", "--noise", "--minutes", "0.1", "--json").json()["metrics"]}[OPS]
        document = self.program("bisect", *ends).json()
        self.assertIn("check --noise of 2", document["noise_source"])
        self.assertAlmostEqual(document["noise"], max(seen["between"], 0.005), places=6)
        self.assertEqual(document["culprit"]["commit"], project.commits[3])
        simulated = self.program("simulate", "--metric", OPS, "--runs", "20", "--json").json()
        self.assertAlmostEqual(simulated["noise"], seen["between"], places=6)
        self.assertIn("check --noise", simulated["noise_source"])
        text = self.program("simulate", "--merges", "8", "--runs", "5").out
        self.assertIn("noise 5.0 % per start by default", text)


if __name__ == "__main__":
    unittest.main()
