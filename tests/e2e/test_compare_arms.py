"""Compare on real arms: the test broker against its own variants, and a sorting program without any server."""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from support import BROKER, Case, free_port, make_history

RATE, CPU = "memory.create.rate", "memory.create.cpu_us"


class Arms(Case):
    @classmethod
    def setUpClass(cls):
        cls.top = Path(tempfile.mkdtemp(prefix="nightgate-compare-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        # Two starts in each pair, to warm up and to measure: the sixth of this head is in pair 3.
        make_history(cls.top, "--variants", "--die-after", "300", "--die-on-start", "6")

    def arms(self, equivalence=False):
        self.need("git", "wrk")
        port = free_port()
        # Tails of runs this short differ from themselves on a busy machine, which compare refuses, rightly.
        metrics = {name: {"unit": "us", "better": "lower", "gated": False} for name in ("p50", "p95", "p99")}
        config = {
            "project": "arms", "state": str(self.dir / "state"), "repository": {"path": str(self.top), "branch": "main"},
            "targets": {"artifact": str(self.top / "builds/{sha}")},
            "machine": {"name": "bench-1", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 5},
            "deployments": {"memory": {"broker": {"command": ["./broker"], "port": port, "args": ["--port", str(port)],
                                                  "ready": "/version"}}},
            "scenarios": {
                "create": {"load": {"wrk": {"connections": 4, "seconds": 0.4, "script": str(BROKER / "wrk" / "create.lua")}},
                           "repeats": 1, "warmup_seconds": 0.2, "store": "grows", "expect": [201], "metrics": metrics},
                "retrieve": {"load": {"wrk": {"connections": 4, "seconds": 0.4, "path": "/entities/fixture-1"}},
                             "fixture": {"calls": [self.entity(1), self.entity(2)],
                                         "count": "/count", "count_pointer": "/count", "expect": 2},
                             "repeats": 1, "warmup_seconds": 0.2, "metrics": metrics}},
            "compare": {"equivalence": ["/entities/fixture-1", "/entities/fixture-2"]} if equivalence else {},
            "store": "embedded"}
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=2))

    @staticmethod
    def entity(number):
        return {"post": "/entities", "expect": 201,
                "body": {"id": f"fixture-{number}", "type": "Room", "t": {"value": 20 + number, "unit": "CEL"}}}

    def compare(self, *names, options=(), code=None, equivalence=False):
        self.arms(equivalence)
        arms = [str(self.top / "arms" / name) for name in names]
        for _ in range(5):
            for counter in self.top.glob("builds/*/broker.starts"):
                counter.unlink()
            ran = self.program("compare", *arms, "--json", "--quiet", *options, code=None, timeout=600)
            document = ran.json()
            # What differs from itself is not judged, rightly: try again when the machine is quieter.
            if "differs from itself" not in json.dumps([document.get("aa_complaint"), document.get("metrics")]):
                break
        self.assertIn(ran.code, (0, 1, 4) if code is None else (code,), str(ran))
        return document

    @staticmethod
    def verdicts(document, head=0):
        return {m["metric"]: m["verdict"] for m in document["heads"][head]["metrics"]}

    def test_against_the_regressed_one_creates_are_worse_and_nothing_else(self):
        document = self.compare("main", "regressed", options=("--pairs", "10"), code=1)
        verdicts = self.verdicts(document)
        self.assertEqual(verdicts[CPU], "worse", document)
        self.assertIn(verdicts[RATE], ("worse", "no_verdict"), document)  # too noisy to be decided on a busy machine
        self.assertEqual([name for name, verdict in verdicts.items() if verdict == "worse" and ".retrieve." in name], [])

    def test_against_itself_nothing_is_worse(self):
        document = self.compare("main", "same", options=("--pairs", "6"))
        self.assertNotIn("worse", self.verdicts(document).values(), document)
        self.assertNotEqual(document["verdict"], "worse")

    def test_against_a_faster_one_creates_are_better_and_nothing_is_worse(self):
        document = self.compare("main", "faster", options=("--pairs", "8", "--scenario", "create"))
        verdicts = self.verdicts(document)
        self.assertEqual(verdicts[CPU], "better", document)  # the rate may be too noisy here to be decided
        self.assertNotIn("worse", verdicts.values(), document)

    def test_a_ladder_of_real_arms(self):
        document = self.compare("main", "faster", "regressed", options=("--ladder", "--pairs", "8", "--scenario", "create"),
                                code=1)
        self.assertEqual([self.verdicts(document, head)[CPU] for head in (0, 1)], ["better", "worse"])
        rung = {m["metric"]: m for m in document["rungs"][0]["metrics"]}
        self.assertEqual(rung[CPU]["verdict"], "worse")
        # What it costs on top of the faster one is more than what it costs on top of main.
        of_main = next(m for m in document["heads"][1]["metrics"] if m["metric"] == CPU)
        self.assertLess(rung[CPU]["change"], of_main["change"])

    def test_wrong_answers_get_no_verdict_however_fast(self):
        document = self.compare("main", "wrong-answers", options=("--pairs", "4", "--scenario", "retrieve"), code=4, equivalence=True)
        self.assertEqual(document["verdict"], "no_verdict")
        self.assertIn("/entities/fixture-1", json.dumps(document["differences"]))

    def test_a_broker_that_dies_in_one_pair_loses_that_pair_only(self):
        document = self.compare("main", "dying", options=("--pairs", "8", "--scenario", "create"))
        # A busy machine may void a pair of its own; the broker's end is named once, with its last words.
        died = [text for text in document["void_pairs"] if "out of slots" in text]
        self.assertEqual(len(died), 1, document["void_pairs"])
        self.assertRegex(died[0], r"^pair 3 of memory\.create, head \(.*dying\): ")
        self.assertGreaterEqual(document["heads"][0]["metrics"][0]["pairs"], 4)
        self.assertNotIn("worse", self.verdicts(document).values(), document)

    def test_a_hog_in_the_middle_makes_nothing_worse(self):
        hogs = []

        def come_and_go():
            time.sleep(6)
            for cpu in sorted(os.sched_getaffinity(0)):
                hogs.append(subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"],
                                             start_new_session=True))
            time.sleep(6)
            for hog in hogs:
                hog.kill()

        meddler = threading.Thread(target=come_and_go)
        meddler.start()
        document = self.compare("main", "same", options=("--pairs", "8", "--scenario", "create"))
        meddler.join()
        for hog in hogs:
            hog.wait()
        self.assertNotIn("worse", self.verdicts(document).values(), document)
        self.assertNotEqual(document["verdict"], "worse")


class Sorting(Case):
    """A program without any server: it sorts, in two versions."""

    def test_a_slower_sort_is_worse(self):
        for name, work in (("fast", "sorted(numbers)"), ("slow", "bubbled(numbers)")):
            program = self.dir / "builds" / name / "bench"
            program.parent.mkdir(parents=True)
            program.write_text(f'''#!/usr/bin/python3
import json, random, time
def bubbled(numbers):
    out = list(numbers)
    for end in range(len(out) - 1, 0, -1):
        for i in range(end):
            if out[i] > out[i + 1]:
                out[i], out[i + 1] = out[i + 1], out[i]
    return out
numbers = [random.Random(1).random() for _ in range(60)]
begin, sorts = time.process_time(), 0
while time.process_time() - begin < 0.2:
    {work}
    sorts += 1
print(json.dumps({{"sorts": sorts / (time.process_time() - begin)}}))
''')
            program.chmod(0o755)
        config = {"project": "sorting", "state": "state", "targets": {"artifact": "builds/{sha}"},
                  "machine": {"name": "bench-1", "cpus": "shared", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 5},
                  "scenarios": {"sort": {"load": {"command": ["{target}/bench"]}, "repeats": 1, "warmup_seconds": 0,
                                         "metrics": {"sorts": {"unit": "1/s"}}}}, "store": "embedded"}
        (self.dir / "nightgate.json").write_text(json.dumps(config))
        document = self.program("compare", "./builds/fast", "./builds/slow", "--json", "--quiet", code=1).json()
        self.assertEqual(document["heads"][0]["metrics"][0]["verdict"], "worse", document)
        document = self.program("compare", "./builds/slow", "./builds/fast", "--json", "--quiet", code=0).json()
        self.assertEqual(document["heads"][0]["metrics"][0]["verdict"], "better", document)
