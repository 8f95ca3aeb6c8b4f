#!/usr/bin/env python3
"""pgbench over one version of the settings: starts the cluster with them, runs selects, stops it; prints {"tps": ..}.

  pgbench_load.py DIR --make                 makes the cluster in DIR and fills it
  pgbench_load.py DIR SETTINGS COUNT         one measurement

PostgreSQL refuses to run as root; then it runs as the user postgres."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BIN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]


def run(program, *arguments):
    command = [str(BIN / program), *map(str, arguments)]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    ran = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}, check=False)
    if ran.returncode != 0:
        sys.exit(f"{program} failed: {ran.stdout[-2000:]}")
    return ran.stdout


def own(path):
    if os.geteuid() == 0:
        shutil.chown(path, "postgres", "postgres")


def start(data):
    run("pg_ctl", "-D", data, "-l", data.parent / "log", "-w", "-o", f"-k {data.parent}", "start")


def stop(data):
    run("pg_ctl", "-D", data, "-w", "-m", "fast", "stop")


def make(directory):
    directory.mkdir(parents=True, exist_ok=True)
    own(directory)
    data = directory / "data"
    run("initdb", "-D", data, "-A", "trust", "-U", "bench", "--no-sync", "-E", "UTF8", "--locale=C")
    with (data / "postgresql.conf").open("a") as conf:
        conf.write("include_if_exists = 'settings.conf'\nlisten_addresses = ''\nfsync = off\n")
    start(data)
    run("pgbench", "-h", directory, "-U", "bench", "-i", "-q", "-s", "2", "postgres")
    stop(data)


def measure(directory, settings, count):
    data = directory / "data"
    (data / "settings.conf").write_text(Path(settings).read_text())
    own(data / "settings.conf")
    (directory / "log").unlink(missing_ok=True)
    start(data)
    try:
        out = run("pgbench", "-h", directory, "-U", "bench", "-n", "-S", "-M", "prepared", "-t", count, "postgres")
    finally:
        stop(data)
    print(json.dumps({"tps": float(re.search(r"^tps = ([0-9.]+)", out, re.MULTILINE).group(1))}))


def main():
    directory = Path(sys.argv[1])
    if sys.argv[2] == "--make":
        make(directory)
    else:
        measure(directory, sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    main()
