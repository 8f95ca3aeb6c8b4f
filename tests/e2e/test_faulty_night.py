"""Nights of the real test broker that can't be measured: exit 3, what happened, the broker's last lines, no verdict kept."""
import json
import socket

from support import BROKER, Case, free_port, make_history, run


class FaultyNight(Case):
    def setUp(self):
        super().setUp()
        self.need("git", "wrk")
        self.merges = make_history(self.dir / "repo", "--merges", "4", "--culprit", "none", "--broken", "2", "--liar", "3")["merges"]
        self.port = free_port()
        self.configure()

    def configure(self, path=None, **broker):
        load = {"connections": 4, "seconds": 0.4}
        load.update({"path": path} if path else {"script": str(BROKER / "wrk" / "create.lua")})
        config = {
            "project": "faulty", "state": "state", "repository": {"path": "repo", "branch": "main"},
            "targets": {"artifact": "repo/builds/{sha}"},
            "machine": {"name": "bench-1", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 5},
            "deployments": {"memory": {"broker": {
                "command": ["./broker"], "port": self.port, "args": ["--port", str(self.port)], "ready": "/version",
                "identity": {"get": "/version", "commit": "/commit"}, **broker}}},
            "scenarios": {"create": {"load": {"wrk": load}, "repeats": 1, "warmup_seconds": 0.2, "store": "grows",
                                     "expect": [201]}},
            "night": {"starts": 1, "min_gap_hours": 0}, "store": "embedded"}
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=2))

    def faulty_night(self, number, *words):
        run(["git", "-C", self.dir / "repo", "update-ref", "refs/heads/main", self.merges[number]["commit"]])
        document = self.program("nightly", "--json", "--quiet", code=3).json()
        self.assertEqual(document["verdict"], "no_verdict")
        said = json.dumps(document)
        for word in words:
            self.assertIn(word, said)
        status = self.program("status", "--json", code=4).json()
        self.assertEqual(status["nights"][0]["state"], "no verdict")
        return document

    def test_a_broker_that_does_not_start(self):
        self.faulty_night(2, "exit code", "broker")

    def test_a_broker_that_is_another_commit(self):
        self.faulty_night(3, self.merges[3]["commit"][:10], "commit")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.port))
            taken.listen()
            self.faulty_night(1, str(self.port))
        # The same night can be measured as soon as the port is free.
        self.assertNotEqual(self.program("nightly", "--json", "--quiet", code=None).json()["verdict"], "no_verdict")

    def test_a_broker_that_answers_errors(self):
        self.configure(path="/no/such/path")
        self.faulty_night(1, "404")

    def test_a_scenario_that_fails_in_the_very_first_night(self):
        """Its figures have no names yet; the night must not look whole for that."""
        config = json.loads((self.dir / "nightgate.json").read_text())
        config["scenarios"]["absent"] = {"load": {"wrk": {"connections": 4, "seconds": 0.4, "path": "/no/such/path"}},
                                         "repeats": 1, "warmup_seconds": 0.2, "expect": [200]}
        (self.dir / "nightgate.json").write_text(json.dumps(config, indent=2))
        run(["git", "-C", self.dir / "repo", "update-ref", "refs/heads/main", self.merges[1]["commit"]])
        self.assertIn("404", self.program("nightly", "--quiet", code=3).out)
        status = self.program("status", "--json", code=4).json()
        self.assertEqual([m["metric"] for m in status["no_verdict"]], ["memory.absent.rate"])
        self.assertIn("404", status["no_verdict"][0]["reason"])
        self.assertIn("memory.absent", self.program("report", "night", "1", "--format", "markdown").out)
        self.assertIn("404", self.program("history", "memory.absent.rate", "--explain", "1").out)

