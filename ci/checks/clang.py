#!/usr/bin/env python3
"""Every file of the dev build, read by clang 14 with the same warnings as errors. Prints what it complains about."""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ONLY_GCC = {"-Wduplicated-cond", "-Wlogical-op"}


def arguments(entry, clang):
    """The compiler's command line, for clang, without an output."""
    given = shlex.split(entry["command"])
    given = given[next(i for i, word in enumerate(given) if word.startswith("-")):]
    out, skip = [clang, "-fsyntax-only"], False
    for word in given:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ONLY_GCC and word not in ("-MD", "-c"):
            out.append(word)
    return out


def complaint(entry, clang):
    ran = subprocess.run(arguments(entry, clang), cwd=entry["directory"], text=True, stderr=subprocess.PIPE)
    return ran.stderr if ran.returncode != 0 or "warning:" in ran.stderr else ""


def main():
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if clang is None:
        sys.exit("no clang++ here; ci/setup installs it")
    entries = json.loads((ROOT / "build/dev/compile_commands.json").read_text())
    entries = [entry for entry in entries if not entry["file"].startswith(str(ROOT / "build"))]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, said in zip(entries, pool.map(lambda entry: complaint(entry, clang), entries)):
            if said:
                bad += 1
                print(f"{entry['file']}:\n{said[:3000]}", flush=True)
    print(f"{len(entries)} files, {bad} with complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
