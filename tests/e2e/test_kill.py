"""kill -9 at random moments of nights and of the bisect: whatever was stored stays, once; the next start goes on; the
verdicts and the culprit are the same as without kills.

NIGHTGATE_KILLS: how many (default 30; ci/soak uses 1,000). NIGHTGATE_SEED: of the moments (default: random, printed)."""
import itertools
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

import support
from project import ProjectCase

KILLS = int(os.environ.get("NIGHTGATE_KILLS", "30"))
SEED = int(os.environ.get("NIGHTGATE_SEED", str(random.SystemRandom().randrange(1 << 30))))
GOOD, SLOW = (1000, 5), (660, 5)
OPS = "default.work.ops"


def processes_of(directory):
    """Processes that name the directory in their command line or work in it, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            here = os.readlink(entry / "cwd")
        except OSError:
            continue
        if command and (str(directory) in command or here.startswith(str(directory))):
            found.append((int(entry.name), command))
    return found


class Killed(ProjectCase):
    def killed_run(self, *arguments):
        """Starts nightgate and kills it after a random while; True when it was killed, the exit code otherwise."""
        began = time.monotonic()
        process = subprocess.Popen([support.PROGRAM, *arguments, "--json", "--quiet"], cwd=self.dir, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            # Within the time that a whole run takes, early moments as often as late ones.
            out, err = process.communicate(timeout=self.length * self.random.choice((0.1, 0.5, 1)) * self.random.random())
            self.length = max(0.3, time.monotonic() - began)  # what a whole run takes here and now
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.kills += 1
            return None, "", ""

    def until_done(self, arguments, codes):
        """Runs it again and again, killed at random while kills are left, until it ends by itself."""
        for _ in range(10 * KILLS + 20):
            if self.kills >= self.allowed:
                return self.program(*arguments, "--json", "--quiet", code=None)
            code, out, err = self.killed_run(*arguments)
            if code is not None:
                self.assertIn(code, codes, f"{arguments}\n{out}\n{err}")
                return support.Ran(list(arguments), code, out, err)
        self.fail("it never ended")

    def test_nights_and_bisect_survive_kills(self):
        print(f"kills: {KILLS}, NIGHTGATE_SEED={SEED}", flush=True)
        self.random = random.Random(SEED)
        self.kills = 0
        self.project([GOOD] * 12 + [SLOW] * 12)
        nights = [1, 2, 3, 4, 5, 6, 7, 20, 21]
        for index, at in enumerate(nights):
            self.made.main_at(at)
            self.length = 1.5 if index < 8 else 8  # the last night bisects
            # Two thirds of the kills fall on the nights, the rest on the last one with its bisect.
            self.allowed = 0 if index == 0 else KILLS * index // 12 if index < 8 else KILLS
            ran = self.until_done(["nightly"], (0, 1, 3, 4))
            # The night that was killed after its last step has nothing left to do.
            document = ran.json() if ran.out else {}
            self.assertIn(document.get("verdict"), ("good", "suspect", "regression", "nothing_to_do", "warming_up", "no_verdict"), str(ran))
        for _ in range(KILLS * 4):  # on a fast machine most runs end before the kill: more nights until all have landed
            if self.kills >= KILLS:
                break
            self.allowed = KILLS
            self.until_done(["nightly", "--force"], (0, 1, 3, 4))
        final = self.program("nightly", "--json", "--quiet", code=None).json()
        self.assertEqual(final["open_trips"][0]["answer"]["culprit"]["commit"], self.made.commits[12], final)
        self.assertEqual([m["metric"] for m in final["open_trips"][0]["metrics"]], [OPS])
        self.assertGreaterEqual(self.kills, KILLS)
        self.check_store(nights)
        self.check_nothing_left()
        print(f"killed {self.kills} times", flush=True)

    def check_store(self, nights):
        history = self.program("history", OPS, "--json").json()["metrics"][0]["nights"]
        self.assertEqual([n["night"] for n in history], sorted({n["night"] for n in history}))
        with_values = [n for n in history if n["value"] is not None]
        # A run that is killed after its last step was a whole night: the next one is a night of its own, and while something
        # is suspect it measures the same version again. Every version is there, in order, and none is missing.
        self.assertEqual([commit for commit, _ in itertools.groupby(n["commit"] for n in with_values)],
                         [self.made.commits[at - 1] for at in nights])
        verdicts = [n["verdict"] for n in with_values]
        bad = [n["commit"] for n in with_values].index(self.made.commits[nights[-2] - 1])
        self.assertEqual(verdicts[bad:bad + 2], ["suspect", "trip"])
        self.assertEqual(verdicts.count("trip"), 1)

    def check_nothing_left(self):
        end = time.monotonic() + 20
        while processes_of(self.dir) and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(processes_of(self.dir), [])
        self.assertEqual(list((self.dir / "state" / "run").glob("*")), [])


if __name__ == "__main__":
    unittest.main()
