#!/usr/bin/env python3
"""The bisect at full size on real programs; prints a table of what was right and what it took beside what `simulate` expects.

  soak_bisect.py [--dir DIR] [PART...]     parts: broker incident nginx postgresql images; none: all of them

DIR (build/soak-bisect) keeps the histories, which take minutes to build; --build makes them and measures nothing. Run it on a
quiet machine: a part takes 2 to 8 minutes."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import histories
import support
from real import LOAD, Hog, broker_config

PROGRAM = Path(os.environ.get("NIGHTGATE") or support.ROOT / "build" / "dev" / "nightgate")
CREATE, NOISE_MINUTES = "memory.create.rate", "0.4"
INCIDENT = (8, 9, 10, 12, 13, 14, 16, 17, 19, 20)
PARTS = ("broker", "incident", "nginx", "postgresql", "images")


def wrk(config):
    """The demo's creates: wrk with ten connections for a second."""
    config["scenarios"]["create"] = {
        "load": {"wrk": {"connections": 10, "seconds": 1, "script": str(support.BROKER / "wrk" / "create.lua")}},
        "repeats": 1, "warmup_seconds": 0, "expect": [201]}
    config["machine"].update({"broker_cpus": "0", "load_cpus": "1"})
    return config


class Bench:
    """A directory with a configuration, its noise measured once, and bisects in it."""

    def __init__(self, directory, config, metric):
        self.dir, self.metric = Path(directory), metric
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(parents=True)
        self.write(config)
        document = self.run("check", "--noise", "--minutes", NOISE_MINUTES)
        self.noise = {m["metric"]: m["between"] for m in document["metrics"]}[metric]

    def write(self, config):
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=1))

    def run(self, *arguments):
        ran = support.run([PROGRAM, *arguments, "--json"], cwd=self.dir, timeout=1500)
        if ran.code == 2 or not ran.out:
            sys.exit(str(ran))
        return ran.json()

    def bisect(self, merges, good, bad, *options):
        return self.run("bisect", "--good", merges[good]["commit"], "--bad", merges[bad]["commit"], "--metric", self.metric,
                        *options)

    def forecast(self, merges, document, *options):
        """What the simulation expects at this noise and the shift that was found. It knows the shift beforehand; a bisect by hand
        spends four starts, a pilot, on that."""
        found = document["outcome"] != "not_reproduced"
        shift = abs(document["change_between_ends" if found else "expected_change"])
        rate = document["better"] == "higher"
        effect = -math.log1p(-shift) if rate else math.log1p(shift)
        said = self.run("simulate", "--merges", str(merges), "--effect", str(max(effect, 1e-6)), "--metric", self.metric,
                        "--error", "0.01", "--runs", "200", *options)
        return said


ROWS = []


def percent(p):
    """Never 100 % for less than certainty."""
    return "> 99.9 %" if p >= 0.9995 else f"{100 * p:.1f} %"


def report(name, bench, merges, document, right, *simulated):
    said = bench.forecast(merges, document, *simulated)
    row = (name, merges, "yes" if right else "NO", document["outcome"],
           percent(document["probability"]), f"{100 * document['change']:+.0f} %", f"{100 * bench.noise:.1f} %",
           document["measurements"], f"{said['measurements_mean']:.0f}, {said['measurements_p95']:.0f}",
           f"{document['minutes']:.1f}")
    ROWS.append(row)
    print("| " + " | ".join(map(str, row)) + " |", flush=True)
    if not right:
        print(json.dumps({k: document[k] for k in ("culprit", "range", "why", "likely", "skipped", "blocks")}), file=sys.stderr)


def named(document, merge):
    return document["outcome"] == "culprit" and document["culprit"]["commit"] == merge["commit"]


def made(directory, *options):
    if not (directory / "history.json").exists():
        shutil.rmtree(directory, ignore_errors=True)
        support.make_history(directory, *options)
    return json.loads((directory / "history.json").read_text())["merges"]


def histories_of(top):
    return {"long": made(top / "long", "--merges", "128", "--culprit", "64", "--broken", "45"),
            "two": made(top / "two", "--merges", "64", "--culprit", "33", "--second", "50"),
            **{f"incident-{n}": made(top / f"incident-{n}", "--merges", "24", "--culprit", str(n), "--missing",
                                     "1,2,3,4,5,6,21,22,23,24") for n in INCIDENT}}


def broker(top, work):
    merges = histories_of(top)
    long, two = merges["long"], merges["two"]
    config = wrk(broker_config(top / "long"))
    bench = Bench(work / "broker", config, CREATE)
    for name, good, bad in (("middle, and one that does not start", 31, 95), ("first", 63, 127), ("last", 0, 64)):
        document = bench.bisect(long, good, bad)
        report(f"culprit {name}", bench, bad - good, document, named(document, long[64]))
    document = bench.bisect(long, 64, 127)
    report("no regression", bench, 63, document, document["outcome"] == "not_reproduced", "--culprits", "0")
    few = bench.dir / "few"
    few.mkdir()
    missing = {n for n in range(32, 95) if n % 5 == 4}  # 64 among them
    for merge in long:
        if merge["n"] not in missing:
            (few / merge["commit"]).symlink_to(top / "long" / "builds" / merge["commit"])
    bench.write({**config, "targets": {"artifact": "few/{sha}"}})
    document = bench.bisect(long, 31, 95)
    wanted = [long[64]["commit"], long[65]["commit"]]
    report("20 % of targets missing, the culprit's too", bench, 64, document,
           document["outcome"] == "range" and document["range"] == wanted, "--missing", "0.2")
    for guard, limit in (("repeats it touches are done again", 0.5), ("nothing kept out", 64)):
        config["machine"]["max_foreign_cpu"] = limit
        bench.write(config)
        hog = Hog(cpu=0, busy=1.5, idle=6)
        document = bench.bisect(long, 31, 95)
        hog.close()
        report(f"a hog on the broker's CPU, a fifth of the time; {guard}", bench, 64, document, named(document, long[64]))
    config["machine"]["max_foreign_cpu"] = 64
    bench.write({**config, "repository": {"path": str(top / "two"), "branch": "main"},
                 "targets": {"artifact": f"{top / 'two'}/builds/{{sha}}"}})
    document = bench.bisect(two, 0, 64, "--all")
    others = [bench.run("bisect", "--resume", str(n)) for n in document["further"]]
    found = {d["culprit"]["commit"] for d in [document, *others] if d["culprit"]}
    report("two regressions, --all (the first of its bisects)", bench, 64, document,
           found == {two[33]["commit"], two[50]["commit"]}, "--culprits", "2")


def incident(top, work):
    merges = histories_of(top)
    bench = None
    for n in INCIDENT:
        rows = merges[f"incident-{n}"]
        config = wrk(broker_config(top / f"incident-{n}"))
        bench = bench or Bench(work / "incident", config, CREATE)
        bench.write(config)
        document = bench.bisect(rows, 7, 20)
        report(f"the demo's range, culprit {n}", bench, 13, document, named(document, rows[n]))


def nginx(_, work):
    for kind, requests in (("gzip", 150), ("log", 6000)):
        port = support.free_port()
        repository = work / f"nginx-{kind}-history"
        shutil.rmtree(repository, ignore_errors=True)
        rows = histories.nginx(repository, 40, 27, port, kind)
        path = "/catalogue.json" if kind == "gzip" else "/health"
        config = histories.nginx_config(broker_config(""), repository, port, [sys.executable, str(LOAD)], requests)
        config["scenarios"]["catalogue"]["load"]["command"][-2] = path
        bench = Bench(work / f"nginx-{kind}", config, "web.catalogue.rate")
        good = 0 if kind == "gzip" else 7  # /health came with merge 6
        document = bench.bisect(rows, good, 40)
        report(f"nginx: {histories.SLOW[kind].lower()}", bench, 40 - good, document, named(document, rows[27]))


def postgresql(_, work):
    cluster = Path(tempfile.mkdtemp(prefix="nightgate-pg-"))
    try:
        subprocess.run([support.ROOT / "tests/e2e/pgbench_load.py", cluster, "--make"], check=True)
        repository = work / "settings-history"
        shutil.rmtree(repository, ignore_errors=True)
        rows = histories.postgres(repository, 40, 23)
        bench = Bench(work / "postgresql", histories.postgres_config(broker_config(""), repository, cluster, 20000),
                      "default.select.tps")
        document = bench.bisect(rows, 0, 40)
        report("PostgreSQL: plans of all statements logged", bench, 40, document, named(document, rows[23]))
    finally:
        shutil.rmtree(cluster, ignore_errors=True)


def images(top, work):
    rows = histories_of(top)["two"]
    engine = Path(tempfile.mkdtemp(prefix="ng-engine-"))
    subprocess.run([support.ROOT / "ci" / "engine", "start", engine, "--while", str(os.getpid())], check=True)
    try:
        env = dict(line.split("=", 1) for line in (engine / "env").read_text().splitlines())
        subprocess.run([support.BROKER / "push-images", "--history", top / "two", "--engine", env["ENGINE"], "--registry",
                        env["REGISTRY"]], check=True, stdout=subprocess.DEVNULL)
        config = wrk(broker_config(top / "two", engine=env["ENGINE"],
                                   targets={"image": {"reference": env["REGISTRY"] + "/broker", "by_label": True}}))
        del config["deployments"]["memory"]["broker"]["command"]
        bench = Bench(work / "images", config, CREATE)
        document = bench.bisect(rows, 0, 49)
        report("images, found by their label", bench, 49, document, named(document, rows[33]))
    finally:
        subprocess.run([support.ROOT / "ci" / "engine", "stop", engine], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--dir", type=Path, default=support.ROOT / "build" / "soak-bisect")
    parser.add_argument("--build", action="store_true", help="make the histories only")
    options = parser.parse_args()
    wrong = [part for part in options.parts if part not in PARTS]
    if wrong:
        parser.error(f"no part {wrong[0]}; there are {', '.join(PARTS)}")
    options.dir.mkdir(parents=True, exist_ok=True)
    if options.build:
        histories_of(options.dir)
        return 0
    print(f"bisects on real programs, {time.strftime('%Y-%m-%d', time.gmtime())}\n")
    print("| case | merges | right | outcome | probability | change | noise per start | measurements | simulate: mean, p95 | minutes |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for part in options.parts or PARTS:
        {"broker": broker, "incident": incident, "nginx": nginx, "postgresql": postgresql,
         "images": images}[part](options.dir, options.dir / "work")
    right = sum(row[2] == "yes" for row in ROWS)
    print(f"\n{right} of {len(ROWS)} right")
    return 0 if right == len(ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
