"""Two of us at once: on one host whoever comes second waits, and nothing is mixed; two machines share one store."""
import collections
import json
import os
import subprocess
import unittest
from pathlib import Path

import support
from project import Project, ProjectCase
from server import Server, postgres_programs

OPS = "default.work.ops"

# Notes who measures (nightgate is the parent), when, and the figure, which no other line has.
BENCH = """#!/bin/sh
read -r began rest < /proc/uptime
set -- $(od -An -N8 -tu4 /dev/urandom)
sleep 0.02
figure=$(awk -v seed=$(($1 % 1000000000)) -v tail=$(($2 % 90000000 + 10000000)) 'BEGIN {{
  srand(seed); for (i = 0; i < 12; i++) a += rand()
  printf "%.3f%d", {level} * (1 + 0.01 * (a - 6)), tail
}}')
read -r ended rest < /proc/uptime
echo "$PPID $began $ended $figure" >> '{notes}'
echo "{{\\"ops\\": $figure}}"
"""


class TwoOfUs(ProjectCase):
    def setUp(self):
        super().setUp()
        self.notes = self.dir / "notes"
        levels = [BENCH.format(level=1000 if n < 6 else 660, notes=self.notes) for n in range(12)]
        self.project(levels)
        self.only_ops(self.made)

    @staticmethod
    def only_ops(project):
        project.config["scenarios"]["work"]["metrics"] = {"ops": {"unit": "1/s"}}
        project.write_config()

    def at_once(self, *commands, cwd=None, prefix=()):
        """Runs them all at the same time; what each of them ended with."""
        started = [subprocess.Popen([*prefix, str(support.PROGRAM), *command, "--json"], cwd=where or self.dir, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for command, where in zip(commands, cwd or [None] * len(commands))]
        ended = []
        for process, command in zip(started, commands):
            out, err = process.communicate(timeout=240)
            ended.append((process.pid, support.Ran(list(command), process.returncode, out, err)))
        return ended

    def rows(self):
        return [(int(pid), float(began), float(ended), float(figure))
                for pid, began, ended, figure in map(str.split, self.notes.read_text().splitlines())]

    def check_serialised(self):
        """Nobody's measuring begins before another one's whole measuring has ended."""
        spans = collections.defaultdict(list)
        for pid, began, ended, _ in self.rows():
            spans[pid] += [began, ended]
        ordered = sorted((min(times), max(times)) for times in spans.values())
        for (_, ended), (began, _) in zip(ordered, ordered[1:]):
            self.assertLessEqual(ended, began + 0.011, "two measured at once")  # /proc/uptime has hundredths
        return len(spans)

    def check_waited(self, ended):
        for _, ran in ended:
            # Who doesn't wait says for whom it would have to.
            if ran.code == 3:
                self.assertRegex(ran.out + ran.err, r"nightgate \w+ of project fast")
            else:
                self.assertIn(ran.code, (0, 1, 4), str(ran))

    def bisect(self, good=1, bad=12):
        return ["bisect", "--good", self.made.commits[good - 1], "--bad", self.made.commits[bad - 1], "--metric", OPS]

    def test_two_nightlies(self):
        self.made.main_at(1)
        self.night(1)
        ended = self.at_once(["nightly", "--force"], ["nightly", "--force"])
        for _, ran in ended:
            self.assertEqual(ran.code, 0, str(ran))
        self.assertEqual(sorted(ran.json()["night"] for _, ran in ended), [2, 3])
        self.assertEqual(self.check_serialised(), 3)
        history = self.program("history", OPS, "--json").json()["metrics"][0]["nights"]
        self.assertEqual([n["night"] for n in history], [1, 2, 3])
        # Each night's median is one of the figures of its own process.
        by_pid = collections.defaultdict(list)
        for pid, _, _, figure in self.rows():
            by_pid[pid].append(figure)
        for pid, ran in ended:
            self.assertEqual(len(by_pid[pid]), 6)
            value = next(n["value"] for n in history if n["night"] == ran.json()["night"])
            self.assertTrue(min(by_pid[pid]) <= value <= max(by_pid[pid]))

    def test_a_nightly_and_a_bisect(self):
        self.night(1)
        for commands in ((["nightly", "--force"], self.bisect()), (self.bisect(), ["nightly", "--force"])):
            ended = self.at_once(*commands)
            self.check_waited(ended)
            self.check_serialised()
            for _, ran in ended:
                if ran.arguments[0] == "bisect" and ran.code == 0:
                    self.assertEqual(ran.json()["culprit"]["commit"], self.made.commits[6])
        nights = self.program("history", OPS, "--json").json()["metrics"][0]["nights"]
        self.assertEqual([n["night"] for n in nights], list(range(1, len(nights) + 1)))
        for night in nights:  # a bisect's figures of slow merges are in no night
            self.assertGreater(night["value"], 900)

    def test_two_bisects(self):
        self.night(1)
        ended = self.at_once(self.bisect(), self.bisect(bad=11))
        self.check_waited(ended)
        done = [ran.json() for _, ran in ended if ran.code == 0]
        self.assertGreaterEqual(len(done), 1)
        self.assertGreaterEqual(self.check_serialised(), 1 + len(done))
        for document in done:
            self.assertEqual(document["culprit"]["commit"], self.made.commits[6])

    def test_two_machines_on_one_store(self):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                                               stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("a second machine's lock needs a mount namespace of its own")
        if not postgres_programs():
            self.skipTest("no PostgreSQL here; ci/setup installs it")
        server = Server()
        self.addCleanup(server.close)
        places = []
        for number in (1, 2):
            notes = self.dir / f"notes-{number}"
            project = Project(self.dir / f"machine-{number}", [BENCH.format(level=1000 * number, notes=notes)] * 3, store=server.where,
                              machine={"name": f"bench-{number}"})
            self.only_ops(project)
            places.append(project.dir)
        # Each with a /run/lock of its own, as on two hosts: they measure and write at the same time.
        own_lock = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o mode=1777 none /run/lock && exec "$0" "$@"']
        for night in (1, 2, 3):
            for _, ran in self.at_once(["nightly", "--force"], ["nightly", "--force"], cwd=places, prefix=own_lock):
                self.assertEqual(ran.code, 0, str(ran))
                self.assertEqual(ran.json()["night"], night)
        spans = [[(float(b), float(e)) for _, b, e, _ in map(str.split, (self.dir / f"notes-{n}").read_text().splitlines())] for n in (1, 2)]
        self.assertTrue(any(a < d and c < b for a, b in spans[0] for c, d in spans[1]), "they did not measure at the same time")
        rows = server.sql("SET search_path = nightgate; SELECT n.machine, s.value FROM samples s JOIN nights n ON n.run = s.run "
                          f"WHERE s.metric = '{OPS}'")
        self.assertEqual(len(rows), 36)
        for number in (1, 2):
            own = {line.split()[3] for line in Path(self.dir / f"notes-{number}").read_text().splitlines()}
            self.assertEqual({float(v) for m, v in rows if m == f"bench-{number}"}, {float(v) for v in own})
        status = json.loads(self.program("status", "--json", cwd=places[0], code=None).out)
        self.assertEqual(status["red"], [])


if __name__ == "__main__":
    unittest.main()
