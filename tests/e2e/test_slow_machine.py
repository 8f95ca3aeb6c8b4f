"""Half the machine for one night, for real: processes that burn the broker's CPUs while the test broker is measured."""
import json
import os
import subprocess

from support import BROKER, Case, free_port, make_history, run

RATE = "memory.create.rate"


class SlowMachine(Case):
    def project(self, **night):
        self.need("git", "wrk", "taskset")
        self.merges = make_history(self.dir / "repo", "--merges", "9", "--culprit", "none")["merges"]
        builds = self.dir / "repo" / "builds"
        if "control" in night:
            night["control"] = {"target": str(builds / self.merges[0]["commit"])}
        port = free_port()
        config = {
            "project": "slow-machine", "state": "state", "repository": {"path": "repo", "branch": "main"},
            "targets": {"artifact": "repo/builds/{sha}"},
            "machine": {"name": "bench-1", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 5},
            "deployments": {"memory": {"broker": {"command": ["./broker"], "port": port, "args": ["--port", str(port)],
                                                  "ready": "/version"}}},
            "scenarios": {"create": {"load": {"wrk": {"connections": 4, "seconds": 0.5, "script": str(BROKER / "wrk" / "create.lua")}},
                                     "repeats": 2, "warmup_seconds": 0.2, "store": "grows", "expect": [201]}},
            "night": {"starts": 1, "min_gap_hours": 0, **night}, "store": "embedded"}
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=2))

    def night(self, number, code=None):
        run(["git", "-C", self.dir / "repo", "update-ref", "refs/heads/main", self.merges[number]["commit"]])
        return self.program("nightly", "--json", "--quiet", code=code).json()

    def busy_night(self, number):
        """With a hog on every CPU of the broker; the night's document."""
        cpus = sorted(os.sched_getaffinity(0))
        hogs = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], start_new_session=True)
                for cpu in cpus]
        try:
            return self.night(number)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()

    def test_with_a_control_the_night_is_good(self):
        self.project(control=True)
        for number in range(1, 8):
            before = self.figures(self.night(number))
        document = self.busy_night(8)
        verdicts = {m["metric"]: m["verdict"] for m in document["metrics"]}
        self.assertLess(self.figures(document)[RATE], 0.8 * before[RATE], "the hog did not slow the broker")
        self.assertEqual(verdicts[RATE], "good", str(document))
        self.assertNotIn("trip", verdicts.values())
        self.assertNotIn("suspect", verdicts.values())
        # Half the requests leave half the store: memory says nothing of the broker here, and is not judged.
        self.assertNotIn("memory.create.mem_peak_mib", verdicts)

    def test_without_a_control_it_is_never_good_by_luck(self):
        self.project()
        for number in range(1, 8):
            before = self.figures(self.night(number))
        document = self.busy_night(8)
        verdicts = {m["metric"]: m["verdict"] for m in document["metrics"]}
        self.assertLess(self.figures(document)[RATE], 0.8 * before[RATE], "the hog did not slow the broker")
        self.assertNotIn(verdicts[RATE], ("good", "trip"))
        self.assertNotIn("trip", verdicts.values())

    @staticmethod
    def figures(document):
        return {m["metric"]: m["value"] for m in document["metrics"]}
