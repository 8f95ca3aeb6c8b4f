"""Bisects of real programs: the configuration for a history of the test broker, and what tests ask of an answer."""
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import support

LOAD = Path(__file__).resolve().parent / "pipelined.py"
# Figures of a machine that does nothing else would be better; tests must also end on one that does.
TOLERANT = {"name": "bench-1", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 5}


def broker_config(project, **changes):
    """The test broker's history in `project` as artifacts, measured by 1,200 creates."""
    port = support.free_port()
    config = {
        "project": "broker", "state": "state", "repository": {"path": str(project), "branch": "main"},
        "targets": {"artifact": f"{project}/builds/{{sha}}"}, "machine": dict(TOLERANT),
        "deployments": {"memory": {"broker": {"command": ["./broker"], "port": port, "args": ["--port", str(port)],
                                              "ready": "/version",
                                              "identity": {"get": "/version", "commit": "/commit", "build_type": "/build"}}}},
        "scenarios": {"create": {"load": {"command": [sys.executable, str(LOAD), "{broker.url}", "create", "1200"]},
                                 "repeats": 1, "warmup_seconds": 0, "metrics": {"rate": {"unit": "1/s"}}}},
        "store": "embedded"}
    for key, value in changes.items():
        config[key] = value
    return config


class BisectCase(support.Case):
    """A test case that bisects; `self.merges` are the rows of history.json."""

    METRIC = "memory.create.cpu_s"

    def write(self, config):
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=1))

    def bisect(self, good, bad, *options, code=0, metric=None, timeout=300):
        """The document of a bisect between two merges (numbers of history.json)."""
        return self.program("bisect", "--good", self.merges[good]["commit"], "--bad", self.merges[bad]["commit"],
                            "--metric", metric or self.METRIC, "--json", *options, code=code, timeout=timeout).json()

    def assert_culprit(self, document, number, sure=0.9):
        self.assertEqual(document["outcome"], "culprit", self.short(document))
        self.assertEqual(document["culprit"]["commit"], self.merges[number]["commit"], self.short(document))
        self.assertEqual(document["culprit"]["pr"], self.merges[number]["pr"])
        self.assertEqual(document["culprit"]["title"], self.merges[number]["title"])
        self.assertGreaterEqual(document["probability"], sure)
        self.assertLess(document["change"], -0.1)

    @staticmethod
    def short(document):
        """What a failed test should show of an answer."""
        keys = ("outcome", "why", "probability", "change", "measurements", "range", "skipped", "noise", "expected_change")
        return json.dumps({**{key: document[key] for key in keys},
                           "blocks": [(b["phase"], b.get("points"), b["values"]) for b in document["blocks"]]})


class Hog:
    """Takes a CPU away from time to time, until close()."""

    PROGRAM = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass\n"

    def __init__(self, cpu, busy, idle):
        self.times = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(cpu, busy, idle), daemon=True)
        self._thread.start()

    def _run(self, cpu, busy, idle):
        while not self._end.wait(idle):
            subprocess.run(["taskset", "-c", str(cpu), sys.executable, "-c", self.PROGRAM, str(busy)], check=False)
            self.times += 1

    def close(self):
        self._end.set()
        self._thread.join()


def seconds_of(call):
    """(result, seconds)"""
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began
