#!/usr/bin/env python3
"""The night-to-night spread of one unchanged broker's create rate while a hog comes and goes between the nights: raw medians,
the ratio to a control measured in turn with it, and CPU per request. Takes about four minutes for 20 nights.
   tests/bench/night_spread.py [NIGHTS]    uses $NIGHTGATE or build/release/nightgate"""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("NIGHTGATE") or str(ROOT / "build" / "release" / "nightgate")
RATE, CPU = "memory.create.rate", "memory.create.cpu_us"


def config(builds, control):
    return {
        "project": "spread", "state": "state", "repository": {"path": "repo", "branch": "main"},
        "targets": {"artifact": "repo/builds/{sha}"},
        "machine": {"name": "bench-1", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 10},
        "deployments": {"memory": {"broker": {"command": ["./broker"], "port": 18088, "args": ["--port", "18088"],
                                              "ready": "/version"}}},
        "scenarios": {"create": {"load": {"wrk": {"connections": 10, "seconds": 0.7,
                                                  "script": str(ROOT / "tests/broker/wrk/create.lua")}},
                                 "repeats": 3, "warmup_seconds": 0.3, "store": "grows", "expect": [201]}},
        "night": {"starts": 2, "min_gap_hours": 0, "control": {"target": str(builds / control)}}, "store": "embedded"}


def night(directory, hog):
    """One forced night of the same target; {metric: (value, log of the machine's slowness by the control)}."""
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], start_new_session=True)
            for cpu in sorted(os.sched_getaffinity(0)) if hog]
    try:
        ran = subprocess.run([PROGRAM, "nightly", "--force", "--json", "--quiet"], cwd=directory, text=True, timeout=600,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        for process in hogs:
            process.kill()
            process.wait()
    if not ran.stdout:
        sys.exit(f"the night failed: {ran.stderr}")
    document = json.loads(ran.stdout)
    return {m["metric"]: (m["value"], m.get("numbers", {}).get("machine") or 0) for m in document["metrics"]}


def spread(logs):
    """Standard deviation of logs, in per cent."""
    return 100 * statistics.stdev(logs)


def main():
    nights = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    chance = random.Random(4)
    raw, ratio, cpu = [], [], []
    with tempfile.TemporaryDirectory(prefix="nightgate-spread-") as name:
        directory = Path(name)
        subprocess.run([ROOT / "tests/broker/make-history", directory / "repo", "--merges", "1", "--culprit", "none"],
                       check=True, stdout=subprocess.DEVNULL)
        history = json.loads((directory / "repo/history.json").read_text())["merges"]
        (directory / "nightgate.json").write_text(json.dumps(config(directory / "repo/builds", history[0]["commit"])))
        for number in range(1, nights + 1):
            hog = chance.random() < 0.5
            found = night(directory, hog)
            raw.append(math.log(found[RATE][0]))
            # The control's slowness of this night (log, against its first night) is put back.
            ratio.append(math.log(found[RATE][0]) + found[RATE][1])
            cpu.append(math.log(found[CPU][0]))
            print(f"night {number:2}  {'hog  ' if hog else 'quiet'}  rate {found[RATE][0]:8.0f}/s  "
                  f"over control {math.exp(ratio[-1] - ratio[0]):.3f}  cpu {found[CPU][0]:6.1f} us/request", flush=True)
    print(f"spread over {nights} nights: rate {spread(raw):.1f} %, rate over control {spread(ratio):.1f} %, "
          f"CPU per request {spread(cpu):.1f} %")
    print(f"ratio / raw: {spread(ratio) / spread(raw):.2f}")
    return 0 if spread(ratio) < 0.5 * spread(raw) else 1


if __name__ == "__main__":
    sys.exit(main())
