"""The ready configs of config/ready/ are right as they stand, and measure what they say they measure: each is loaded, what
it could only find in its own project is replaced (named in each test), and scenarios are measured on stand-ins."""
import json
import shutil
import sys
import unittest
from pathlib import Path

import support
from project import ProjectCase

sys.path.insert(0, str(support.ROOT / "ci" / "checks"))
from schemas import check_config, without_comments  # noqa: E402

READY = support.ROOT / "config" / "ready"
STAND_IN = Path(__file__).resolve().parent / "stand_in.py"
FILES = sorted(file.name for file in READY.glob("*.jsonc"))
# Any machine will do, busy or small.
ANY_MACHINE = {"cpus": "shared", "max_foreign_cpu": 64, "max_steal": 1, "max_memory_pressure": 100, "min_free_disk_gb": 0.1,
               "min_free_memory_gb": 0.1, "wait_minutes": 2}


class AsTheyAre(support.Case):
    def test_there_are_five(self):
        self.assertEqual(FILES, ["benchmark-programs.jsonc", "broker-chain.jsonc", "context-broker.jsonc",
                                 "database-server.jsonc", "minimal.jsonc"])

    def test_they_fit_the_schema(self):
        for file in FILES:  # that they load as well: tests/unit/config_ready_test.cpp
            with self.subTest(file):
                check_config(READY / file)

    def test_minimal_is_ten_lines(self):
        lines = (READY / "minimal.jsonc").read_text().splitlines()
        self.assertLessEqual(len([line for line in lines if not line.startswith("//")]), 10)


class Measured(ProjectCase):
    def load(self, file):
        """A ready config with the machine, the repository and the targets of this test, short repeats, and no store, which
        measure does not need."""
        config = json.loads(without_comments((READY / file).read_text()))
        project = self.project([None])
        self.target = self.dir / "builds" / project.commits[0]
        self.target.mkdir(parents=True)
        config.update(state="state", repository={"path": "repo", "branch": "main"}, machine=dict(ANY_MACHINE),
                      store="host=127.0.0.1 port=1")
        if "engine" in config:  # images become plain processes
            del config["engine"]
            config["targets"] = {"artifact": "builds/{sha}"}
        for scenario in config["scenarios"].values():
            scenario.update(repeats=1, warmup_seconds=0)
            load = scenario["load"].get("wrk") or scenario["load"].get("open") or {}
            if load:
                load["seconds"] = 0.3
        self.config = config
        return config

    def executable(self, name, text):
        (self.target / name).write_text(text)
        (self.target / name).chmod(0o755)

    def measure(self, *scenarios, codes=(0,)):
        """{metric: median} of the scenarios, after check found config, targets and machine good."""
        (self.dir / "nightgate.json").write_text(json.dumps(self.config, indent=1))
        checks = {c["what"]: c for c in self.program("check", "--json", code=None).json()["checks"]}
        for what in ("config", "repository", "targets", "machine"):
            self.assertTrue(checks[what]["ok"], checks[what])
        only = [word for scenario in scenarios for word in ("--scenario", scenario)]
        ran = self.program("measure", self.made.commits[0], "--json", "--quiet", *only, code=None, timeout=300)
        self.assertIn(ran.code, codes, str(ran)[-3000:])
        self.said = ran.json()
        return {metric["metric"]: metric["median"] for metric in self.said["metrics"]}

    def ngsi_ld(self, file):
        """Replaced: the program, its port, the database's image, the control release, the size of the pool; only create_c1 is measured
        on all four deployments."""
        self.need("wrk")
        config = self.load(file)
        self.executable("broker", f"#!/bin/sh\nexec {sys.executable} {STAND_IN} broker \"$@\" "
                                  f"--commit {self.made.commits[0]}\n")
        shutil.copytree(READY / "ngsi-ld", self.dir / "ngsi-ld")
        for script in (self.dir / "ngsi-ld").glob("*.lua"):
            script.write_text(script.read_text().replace("POOL = 10000", "POOL = 1000"))
        for scenario in config["scenarios"].values():
            if "fixture" in scenario:
                scenario["fixture"]["expect"] = 1000
                scenario["fixture"]["command"][-1] = "1000"
        for deployment in config["deployments"].values():
            deployment["broker"].update(command=["./broker"], port=support.free_port())
            deployment["broker"].pop("volumes", None)
            for service in deployment.get("services", {}).values():
                service.pop("image")
                service.pop("volumes")
                service.update(port=support.free_port(), command=[sys.executable, "-m", "http.server", "{mongo.port}"])
        config["night"].pop("control")
        return config

    def test_context_broker(self):
        config = self.ngsi_ld("context-broker.jsonc")
        for name, scenario in config["scenarios"].items():  # the others: do their scripts get the answers they expect?
            if name != "create_c1":
                scenario["deployments"] = ["memory"]
        figures = self.measure()
        for deployment in config["deployments"]:
            for figure in ("rate", "p50", "p95", "p99", "cpu_us"):
                self.assertGreater(figures[f"{deployment}.create_c1.{figure}"], 0)
        for scenario in config["scenarios"]:
            self.assertGreater(figures[f"memory.{scenario}.rate"], 0)

    def test_broker_chain(self):
        """Replaced: the program, ports, CPUs, and the rates."""
        self.need("wrk", "g++")
        config = self.load("broker-chain.jsonc")
        support.make_history(self.dir / "made", "--variants")
        shutil.copy(self.dir / "made" / "arms" / "main" / "broker", self.target)
        for broker in config["deployments"]["chain"]["brokers"]:
            del broker["cpus"]
            broker.update(command=["./broker"], port=support.free_port())
        for scenario in config["scenarios"].values():
            if "open" in scenario["load"]:
                scenario["load"]["open"]["rate"] = 200
        # An open loop that is late itself, on a machine as busy as this may be, gives no verdict (4) and no figures.
        figures = self.measure(codes=(0, 4))
        for scenario in config["scenarios"]:
            if scenario.endswith("_due") and f"chain.{scenario}.rate" not in figures:
                self.assertIn("late", json.dumps(self.said))
                continue
            for figure in ("rate", "p50", "p95", "p99", "cpu_us"):
                self.assertGreater(figures[f"chain.{scenario}.{figure}"], 0)
            if scenario.endswith("_due"):
                self.assertLess(figures[f"chain.{scenario}.rate"], 250)

    def test_benchmark_programs(self):
        """Replaced: how long the pause is."""
        self.need("make", "git")
        config = self.load("benchmark-programs.jsonc")
        programs = {
            "bench-queue": "#!/bin/sh\n[ \"$1\" = --json ] && echo '{\"append\": 812345, \"read\": 2212345}'\n",
            "bench-tree": "#!/bin/sh\necho loaded in 12.5 ms\necho saved in 30 ms\n",
            "bench-parser": "#!/bin/sh\necho '{\"context\": {\"date\": \"2026-03-02T09:00:00+00:00\"}, \"benchmarks\": [{\"name\": "
                            "\"parse\", \"run_type\": \"iteration\", \"iterations\": 10, \"real_time\": 5.5, \"cpu_time\": 5.4, "
                            "\"time_unit\": \"ns\"}]}'\n"}
        repository = self.made.repository
        for name, text in programs.items():
            (repository / name).write_text(text)
            (repository / name).chmod(0o755)
        (repository / "Makefile").write_text("bench:\n\tcp bench-* $(OUT)\n")
        self.made.merge(None)
        self.made.commits = self.made.commits[-1:]
        for scenario in config["scenarios"].values():
            command = scenario["load"]["command"]
            command["argv"] = [word.replace("sleep 2", "sleep 0.1") for word in command["argv"]]
        figures = self.measure()
        self.assertEqual(figures["default.queue.append"], 812345)
        self.assertEqual(figures["default.tree.load"], 12.5)
        self.assertEqual(figures["default.parser.parse"], 5.5)

    def test_database_server(self):
        """Replaced: the programs behind the images, ports, and k6."""
        self.need("psql")
        if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
            self.skipTest("no PostgreSQL server here; ci/setup installs it")
        config = self.load("database-server.jsonc")
        self.executable("server", "the program is started by its path\n")
        database = config["deployments"]["api"]["services"]["db"]
        for key in ("image", "volumes", "args"):
            database.pop(key)
        database.update(port=support.free_port(), command=[sys.executable, str(STAND_IN), "postgres", "{db.port}"])
        config["deployments"]["api"]["broker"].update(port=support.free_port(), command=[sys.executable, str(STAND_IN), "api"])
        command = config["scenarios"]["orders"]["load"]["command"]
        self.assertEqual(command["argv"][0], "k6")
        command["argv"][:1] = [sys.executable, str(STAND_IN), "k6"]
        (self.dir / "perf").mkdir()
        (self.dir / "perf" / "orders.js").write_text("// the stand-in reads no script\n")
        figures = self.measure()
        # Not db_cpu_us: backends of a PostgreSQL that is a plain process are in sessions of their own, and not counted.
        for figure in ("http_reqs.rate", "http_req_duration.med", "http_req_duration.p(95)", "db_ms", "cpu_us",
                       "db_buffers_hit", "db_wal_bytes"):
            self.assertGreater(figures[f"api.orders.{figure}"], 0)
        self.assertAlmostEqual(figures["api.orders.db_calls"], 2, delta=0.1)

    def test_minimal(self):
        """Replaced: the program, its port, and the URL's path."""
        self.need("wrk")
        config = self.load("minimal.jsonc")
        self.executable("server", f"#!/bin/sh\nexec {sys.executable} {STAND_IN} broker \"$@\"\n")
        port = support.free_port()
        config["deployments"]["default"]["broker"].update(command=["./server"], args=["--port", str(port)], port=port,
                                                          ready="/version")
        config["scenarios"]["get"]["load"]["wrk"]["path"] = "/version"
        self.assertGreater(self.measure()["default.get.rate"], 0)


if __name__ == "__main__":
    unittest.main()
