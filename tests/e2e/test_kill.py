"""Everything that takes part in a night is killed at random moments: nightgate, PostgreSQL, dockerd and the broker. After it:
every acknowledged sample is there once, nothing is left over, and verdicts and culprit are the same as without kills.

NIGHTGATE_KILLS: how many in all (default 30; ci/soak uses 1,000). NIGHTGATE_SEED: of the moments (default: random, printed)."""
import collections
import fcntl
import itertools
import os
import random
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

import support
from project import ProjectCase
from server import Engine, Server, postgres_programs, postmaster, run_as_postgres, sql

KILLS = int(os.environ.get("NIGHTGATE_KILLS", "30"))
SEED = int(os.environ.get("NIGHTGATE_SEED", str(random.SystemRandom().randrange(1 << 30))))
GOOD, SLOW = 1000, 660
OPS = "default.work.ops"
NIGHTS = [1, 2, 3, 4, 5, 6, 7, 20, 21]

# Prints a figure around this version's level, 1 % noise, with digits that no other line has; what it prints it notes first:
# the start it belongs to, when, and the figure.
BENCH = """#!/bin/sh
set -- $(od -An -N8 -tu4 /dev/urandom)
figure=$(awk -v seed=$(($1 % 1000000000)) -v tail=$(($2 % 90000000 + 10000000)) 'BEGIN {{
  srand(seed); for (i = 0; i < 12; i++) a += rand()
  printf "%.3f%d", {level} * (1 + 0.01 * (a - 6)), tail
}}')
read -r now rest < /proc/uptime
echo "$NIGHTGATE_RUN $now $figure" >> '{notes}'
echo "{{\\"ops\\": $figure}}"
"""


def uptime():
    return float(Path("/proc/uptime").read_text().split()[0])


def processes_of(directory, program=None):
    """Processes that name the directory in their command line or work in it, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            here = os.readlink(entry / "cwd")
            mine = command and (str(directory) in command or here.startswith(str(directory)))
            if mine and (program is None or os.readlink(entry / "exe") == str(program)):
                found.append((int(entry.name), command))
        except OSError:
            continue
    return found


class Killed(ProjectCase):
    def prepare(self, kills, deck, **config):
        """A project whose 13th merge is slow, and the order in which things are killed."""
        self.kills_in_all, self.kills, self.done = kills, 0, collections.Counter()
        self.random = random.Random(f"{SEED} {self.id()}")
        self.random.shuffle(deck)
        self.deck = itertools.cycle(deck)
        self.notes = self.dir / "notes"
        self.notes.touch()
        self.tmp = self.dir / "tmp"
        self.tmp.mkdir()
        self.last = None
        self.invocations, self.strikes = [], []  # (first line, last line, exit code, or None when something was killed); when a measurement was hit
        self.server = self.engine = self.broker = None
        levels = [BENCH.format(level=GOOD if n < 12 else SLOW, notes=self.notes) for n in range(24)]
        self.project(levels, **config)
        self.made.config["scenarios"]["work"]["metrics"] = {"ops": {"unit": "1/s"}}
        self.made.write_config()
        print(f"\n{self.id()}: {kills} kills, NIGHTGATE_SEED={SEED}", flush=True)

    # ---- killing ----
    def victim(self, kind, process):
        """The process to be killed, when it is there now."""
        if kind == "nightgate":
            return process.pid
        if kind.startswith("postgres"):
            return self.server.pid() if self.server else postmaster(self.dir / "state/postgres/data")
        if kind == "dockerd":
            return self.engine.pid()
        return next((pid for pid, _ in processes_of(self.dir / "state" / "run", self.broker)), None)

    def strike(self, kind, process):
        """Kills it, as soon as it is there; False when nightgate ended before."""
        while process.poll() is None:
            if pid := self.victim(kind, process):
                try:
                    os.kill(pid, signal.SIGQUIT if kind == "postgres, immediate" else signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.kills += 1
                self.done[kind] += 1
                return True
            time.sleep(0.005)
        return False

    def mend(self, kind):
        """What nobody else starts again."""
        if kind == "dockerd" or (self.server and kind.startswith("postgres")):
            time.sleep(self.random.random())
            (self.engine.again if kind == "dockerd" else self.server.start)()

    def next_kind(self):
        kind = next(self.deck)
        # A broker killed three times at one merge of a bisect rules this merge out, rightly; that is another test.
        if kind in ("broker", "dockerd") and self.bisecting:
            self.harmful += 1
            return kind if self.harmful <= 2 else "nightgate"
        return kind

    def killed_run(self, *arguments):
        """Starts nightgate and kills something after a random while; (exit code or None when itself was killed, out, err, kind)."""
        began, first = time.monotonic(), len(self.noted())
        process = subprocess.Popen([support.PROGRAM, *arguments, "--json", "--quiet"], cwd=self.dir, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(self.tmp)})
        kind = None
        try:
            # Within the time that a whole run takes, early moments as often as late ones.
            out, err = process.communicate(timeout=self.length * self.random.choice((0.1, 0.5, 1)) * self.random.random())
            self.length = max(0.3, time.monotonic() - began)  # what a whole run takes here and now
        except subprocess.TimeoutExpired:
            kind = self.next_kind()
            at = uptime()
            if not self.strike(kind, process):
                kind = None
            else:
                self.mend(kind)
            try:
                out, err = process.communicate(timeout=240)
            except subprocess.TimeoutExpired:
                process.kill()
                self.fail(f"nightgate hangs after a kill of {kind}\n{process.communicate()}")
            if kind in ("broker", "dockerd"):
                self.strikes.append((at, uptime()))
        code = None if kind == "nightgate" else process.returncode
        self.invocations.append((first, len(self.noted()), code if kind is None else None))
        self.last = (kind, out, err)
        return code, out, err, kind

    def until_done(self, arguments):
        """Runs it again and again, killed at random while kills are left, until it ends by itself with a verdict."""
        for _ in range(10 * self.kills_in_all + 20):
            if self.kills >= self.allowed:
                first = len(self.noted())
                ran = self.program(*arguments, "--json", "--quiet", code=None, env={"TMPDIR": str(self.tmp)}, timeout=300)
                self.invocations.append((first, len(self.noted()), ran.code))
                kind, code, out, err = None, ran.code, ran.out, ran.err
            else:
                code, out, err, kind = self.killed_run(*arguments)
            if code is None:
                continue
            self.assertIn(code, (0, 1, 3, 4), f"{arguments}, killed: {kind}\n{out}\n{err}")
            # What could not even open its store, because that was killed, cleaned nothing: the next one does.
            if not (kind and code == 3):
                self.check_nothing_left(kind)
            if self.server:
                self.check_samples()
            document = support.Ran(list(arguments), code, out, err).json()
            if document.get("verdict") in ("good", "suspect", "regression", "nothing_to_do", "warming_up"):
                return document
            self.assertIsNotNone(kind or self.kills < self.allowed, f"no verdict though nothing was killed\n{out}\n{err}")
        return self.fail("it never ended")

    # ---- nights ----
    def nights(self):
        self.bisecting, self.harmful = False, 0
        for index, at in enumerate(NIGHTS):
            self.made.main_at(at)
            self.bisecting = index == len(NIGHTS) - 1
            self.length = 15 if self.bisecting else 3
            # Two thirds of the kills fall on the nights, the rest on the last one with its bisect.
            self.allowed = 0 if index == 0 else self.kills_in_all * index // 12 if not self.bisecting else self.kills_in_all
            self.until_done(["nightly"])
            self.check_store(final=False)
        for _ in range(self.kills_in_all * 4):  # on a fast machine most runs end before the kill: more until all have landed
            if self.kills >= self.kills_in_all:
                break
            self.bisecting = False
            self.until_done(["nightly", "--force"])
        final = self.program("nightly", "--json", "--quiet", code=None, timeout=300).json()
        self.assertEqual(final["open_trips"][0]["answer"]["culprit"]["commit"], self.made.commits[12], final)
        self.assertEqual([m["metric"] for m in final["open_trips"][0]["metrics"]], [OPS])
        self.assertGreaterEqual(self.kills, self.kills_in_all)
        self.check_nothing_left(None)
        self.check_store(final=True)
        self.check_history()
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.done.items()))
        print(f"killed {self.kills} times: {counts}; {self.stored} samples stored, {self.acknowledged} of them acknowledged", flush=True)

    def test_on_one_machine(self):
        """Embedded PostgreSQL; a broker as a process, and a service in a container where an engine can be had."""
        port = support.free_port()
        deck = ["nightgate"] * 8 + ["postgres, immediate", "postgres, killed", "broker"] * 3
        deployment = {"broker": {"command": ["./broker"], "port": port, "args": ["--port", str(port)], "ready": "/version"}}
        missing = Engine.missing()
        if not missing:
            deck += ["dockerd"] * 3
            deployment["services"] = {"side": {"image": "ng-side:1"}}
        else:
            print(f"no dockerd is killed: {missing}", flush=True)
        self.prepare(KILLS * 2 // 3, deck, deployments={"default": deployment})
        if not missing:
            self.engine = Engine()
            self.addCleanup(self.engine.close)
            self.made.config["engine"] = self.engine.address
            self.made.write_config()
        made = support.make_history(self.dir / "brokers", "--merges", "2", "--culprit", "none")["merges"]
        self.broker = self.dir / "brokers" / "builds" / made[0]["commit"] / "broker"
        for commit in self.made.commits:
            (self.dir / "builds" / commit / "broker").symlink_to(self.broker)
        self.port = port
        self.nights()

    def test_with_a_server(self):
        """PostgreSQL is a server of its own, which is away for a second after each kill: the spool takes over."""
        if not postgres_programs():
            self.skipTest("no PostgreSQL here; ci/setup installs it")
        self.prepare(KILLS - KILLS * 2 // 3, ["nightgate"] * 4 + ["postgres, immediate", "postgres, killed"] * 3)
        self.server = Server()
        self.addCleanup(self.server.close)
        self.made.config["store"] = self.server.where
        self.made.write_config()
        self.nights()

    # ---- what must hold ----
    def noted(self):
        return [(run, float(at), float(figure)) for run, at, figure in map(str.split, self.notes.read_text().splitlines())]

    def acknowledged_figures(self):
        """Those of starts after which nightgate went on to something else: everything is stored before the next begins."""
        notes, out = self.noted(), []
        for first, last, code in self.invocations:
            starts = {}
            for run, at, figure in notes[first:last]:
                starts.setdefault(run, []).append((at, figure))
            ordered = sorted(starts.values())
            for place, rows in enumerate(ordered):
                begin, end = rows[0][0] - 3, ordered[place + 1][0][0] if place + 1 < len(ordered) else float("inf")
                went_on = place + 1 < len(ordered) or code in (0, 1, 4)
                hit = any(at < end and until > begin for at, until in self.strikes)  # the broker or its engine was killed in it
                if went_on and not hit and len(rows) >= 3:
                    out += [figure for _, figure in rows]
        return out

    def ask(self, statement):
        if self.server:
            return self.server.sql("SET search_path = nightgate; " + statement)
        return sql(os.path.realpath(self.dir / "state" / "postgres") + "/socket", "SET search_path = nightgate; " + statement)

    def check_samples(self):
        stored = collections.Counter(float(row[0]) for row in self.ask(f"SELECT value FROM samples WHERE metric = '{OPS}'"))
        noted = {figure for _, _, figure in self.noted()}
        self.assertEqual([figure for figure, times in stored.items() if times > 1], [], "stored twice")
        self.assertEqual(set(stored) - noted, set(), "never measured")
        spooled = list((self.dir / "state").glob("spool/*"))
        acknowledged = self.acknowledged_figures()
        if not spooled:
            lost = [figure for figure in acknowledged if figure not in stored]
            self.assertEqual(lost, [], f"acknowledged and lost; runs (lines, exit code): {self.invocations[-5:]}, "
                             f"notes: {self.noted()[self.invocations[-1][0] - 10:]}, last: {self.last}")
        self.stored, self.acknowledged = len(stored), len(acknowledged)

    def check_states(self, final):
        nights = self.ask("SELECT sequence, state FROM nights ORDER BY sequence")
        self.assertEqual([int(n[0]) for n in nights], list(range(1, len(nights) + 1)))
        self.assertEqual({n[1] for n in nights[:-1]} - {"judged", "no_verdict"}, set(), nights)
        if final:
            # A night that was forced once more, of a version that had been judged, may be the one that lost its broker.
            self.assertEqual([n[1] for n in nights if n[1] != "no_verdict"][-1], "judged", nights)
            self.assertEqual(self.ask("SELECT state FROM bisects WHERE trip IS NOT NULL"), [["finished"]])
            self.assertEqual(self.ask("SELECT state FROM trips"), [["open"]])
            self.assertEqual(self.ask("SELECT kind, uuid FROM run WHERE state = 'running'"), [])
        verdicts = [row[0] for row in self.ask(f"SELECT verdict FROM verdicts WHERE metric = '{OPS}' ORDER BY sequence")]
        self.assertRegex(" ".join(v for v in verdicts if v != "no_verdict"),
                         r"^(warming_up ?)*((good|suspect) ?)*(suspect trip ?(red ?)*)?$")

    def check_store(self, final):
        base = Path(os.path.realpath(self.dir / "state" / "postgres"))
        if not self.server:
            run_as_postgres(postgres_programs() / "pg_ctl", "-D", base / "data", "-l", base / "log", "-w", "start")
        try:
            self.check_samples()
            self.check_states(final)
        finally:
            if not self.server:
                run_as_postgres(postgres_programs() / "pg_ctl", "-D", base / "data", "-m", "fast", "-w", "stop")

    def check_history(self):
        history = self.program("history", OPS, "--json").json()["metrics"][0]["nights"]
        with_values = [n for n in history if n["value"] is not None and n["verdict"] != "no_verdict"]
        # A run that is killed after its last step was a whole night: the next one is a night of its own, and while something
        # is suspect it measures the same version again. Every version is there, in order, and none is missing.
        self.assertEqual([commit for commit, _ in itertools.groupby(n["commit"] for n in with_values)],
                         [self.made.commits[at - 1] for at in NIGHTS])
        verdicts = [n["verdict"] for n in with_values]
        bad = [n["commit"] for n in with_values].index(self.made.commits[NIGHTS[-2] - 1])
        self.assertEqual(verdicts[bad:bad + 2], ["suspect", "trip"])
        self.assertEqual(verdicts.count("trip"), 1)

    def check_nothing_left(self, kind):
        """After a run that ended by itself: no process, directory, container, port or lock of it or of earlier ones."""
        end = time.monotonic() + 20
        while processes_of(self.dir) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(processes_of(self.dir), [])
        self.assertEqual(list((self.dir / "state" / "run").glob("*")), [])
        self.assertEqual(list(self.tmp.iterdir()), [])
        if self.engine and kind != "dockerd":  # without an engine nothing can be removed; the next run does
            self.assertEqual(self.engine.containers(), [])
        if self.broker:
            with socket.socket() as probe:
                self.assertNotEqual(probe.connect_ex(("127.0.0.1", self.port)), 0)
        state = self.dir / "state"
        for lock in [*state.glob("*.lock"), *state.glob("*/*.lock"), *state.glob("*/*/lock")]:
            with open(lock) as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


if __name__ == "__main__":
    unittest.main()
