"""Builds every fuzz target with clang, ASan and UBSan, and runs each for a while, one on each CPU:

  fuzz.py SECONDS [RESULTS]      prints a line for each: inputs tried, coverage, memory; with RESULTS each is booked there

With RESULTS (ci/test) the seed is always the same: a change is not failed by luck. Without (ci/soak) it is another each time.

A crash, a hang (10 s for one input), a leak, or more than 256 MB is a failure; the input stays in build/fuzz/found."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tally import Results  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "fuzz"
MEGABYTES = 256


def build():
    """What went wrong, or None."""
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if clang is None:
        return "no clang++ here; ci/setup installs it"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={clang}", "-DNIGHTGATE_FUZZ=ON",
                 "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1", "-DNIGHTGATE_SANITIZE=address,undefined", *launcher]
    for command in (configure, ["cmake", "--build", BUILD, "--target", "fuzzers", f"-j{os.cpu_count()}"]):
        ran = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if ran.returncode != 0:
            errors = [line for line in ran.stdout.splitlines() if "error:" in line or "undefined reference" in line]
            return "\n".join(errors[:30]) or ran.stdout[-3000:]
    return None


def fuzz(name, seconds, seed):
    """(what went wrong or None, the line to print)"""
    new, found = BUILD / "new" / name, BUILD / "found"
    for directory in (new, found):
        directory.mkdir(parents=True, exist_ok=True)
    corpus = [str(d) for d in (new, ROOT / "tests/fuzz/corpus" / name) if d.is_dir()]
    # ASan keeps freed memory for a while; with its usual 256 MB of that nothing could be said about ours.
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8:malloc_context_size=5:detect_leaks=1",
                   "UBSAN_OPTIONS": "print_stacktrace=1"}
    try:
        ran = subprocess.run([BUILD / "tests" / f"fuzz_{name}", f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10",
                              f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1", f"-artifact_prefix={found}/{name}-", *corpus],
                             text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                             timeout=seconds + 120, check=False)
    except subprocess.TimeoutExpired:
        return "no end", f"{name}: no end"

    def last(pattern):
        return int((re.findall(pattern, ran.stdout) or ["0"])[-1])

    tried, memory = last(r"number_of_executed_units:\s+(\d+)"), last(r"peak_rss_mb:\s+(\d+)")
    features = last(r" ft: (\d+)")
    line = f"{name}: {tried:,} inputs, {features:,} features, {memory} MB"
    if ran.returncode != 0:
        start = ran.stdout.find("ERROR")
        said = ran.stdout[max(0, start - 500):start + 3000] if start >= 0 else ran.stdout[-3000:]
        return said, line + " FAILED"
    if tried == 0 or memory > MEGABYTES:
        return f"{tried} inputs, {memory} MB", line + " FAILED"
    return None, line


def main(seconds, results=None):
    book = Results(results).add if results else lambda *_: None
    if why := build():
        print(why)
        book("fail", "fuzz", "build", why)
        return 1
    names = sorted(path.stem for path in (ROOT / "tests/fuzz").glob("*.cpp"))
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for name, (why, line) in zip(names, pool.map(lambda name: fuzz(name, int(seconds), 1 if results else 0), names)):
            print(line, flush=True)
            faults += why is not None
            if why and not results:
                print(why)
            book("fail" if why else "pass", "fuzz", name, why or "")
    print(f"{len(names)} fuzz targets of {seconds} s, {faults} with faults")
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
