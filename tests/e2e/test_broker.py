"""The test broker and its history are what they are said to be."""
import json
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BROKER, Case, http, make_history, run, stop


def git(directory, *arguments):
    ran = run(["git", "-C", directory, *arguments])
    if ran.code != 0:
        raise AssertionError(str(ran))
    return ran.out.strip()


class Arms(Case):
    """Each arm of a comparison does what its name says."""

    @classmethod
    def setUpClass(cls):
        cls.top = Path(tempfile.mkdtemp(prefix="nightgate-arms-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.commits = make_history(cls.top, "--variants", "--die-after", "5", "--die-on-start", "2")["variants"]

    def arm(self, name, *arguments):
        return self.start_broker(self.top / "arms" / name / "broker", *arguments)

    def create(self, url, entity):
        return http("POST", f"{url}/entities", entity)

    def test_entities(self):
        url, _ = self.arm("main")
        entity = {"id": "a/b\u00e7", "type": "Room", "t": 21.5, "name": {"value": "x\u00e9", "type": "Text", "k": [1, {}]}}
        self.assertEqual(self.create(url, entity)[0], 201)
        self.assertEqual(self.create(url, entity)[0], 409)
        status, _, text = http("GET", f"{url}/entities/a/b%C3%A7")
        self.assertEqual((status, json.loads(text)), (200, {**entity, "t": {"type": "Number", "value": 21.5}}))
        self.assertEqual(http("PATCH", f"{url}/entities/a/b%C3%A7", {"t": 3, "name": None})[0], 204)
        answered = json.loads(http("GET", f"{url}/entities/a/b%C3%A7")[2])
        self.assertEqual(answered, {"id": "a/b\u00e7", "type": "Room", "t": {"type": "Number", "value": 3}})
        self.assertEqual(http("DELETE", f"{url}/entities/a/b%C3%A7")[0], 204)
        for method in ("GET", "PATCH", "DELETE"):
            self.assertEqual(http(method, f"{url}/entities/a/b%C3%A7", {} if method == "PATCH" else None)[0], 404)

    def test_batch_query_and_count(self):
        url, _ = self.arm("main", "--threads", "3")
        batch = [{"id": f"e{i}", "type": "Room", "n": i} for i in range(30)]
        self.assertEqual(http("POST", f"{url}/batch", batch)[0], 201)
        self.assertEqual(http("POST", f"{url}/batch", [batch[0], {"id": "new", "type": "T"}])[0], 409)
        self.assertEqual(json.loads(http("GET", f"{url}/count")[2]), {"count": 31})
        _, headers, text = http("GET", f"{url}/entities?limit=4")
        self.assertEqual([e["id"] for e in json.loads(text)], ["e0", "e1", "e2", "e3"])
        self.assertEqual(headers["X-Total-Count"], "31")
        self.assertEqual(http("DELETE", f"{url}/entities")[0], 204)
        self.assertEqual(http("GET", f"{url}/entities")[2], "[]")

    def test_bad_requests(self):
        url, _ = self.arm("main")
        for body in ("", "[]", '{"id":"a"}', '{"id":"a b","type":"T"}', '{"id":1,"type":"T"}', "[" * 200000,
                     '{"id":"a","type":"T","x":"<script>"}', '{"id":"a","type":"T"'):
            with self.subTest(body=body[:40]):
                self.assertEqual(http("POST", f"{url}/entities", body)[0], 400)
        self.assertEqual(http("POST", f"{url}/batch", '{"id":"a","type":"T"}')[0], 400)
        self.assertEqual(http("GET", f"{url}/nothing")[0], 404)
        self.assertEqual(http("PUT", f"{url}/entities", "{}")[0], 405)
        self.assertEqual(json.loads(http("GET", f"{url}/count")[2]), {"count": 0})

    def test_connections(self):
        """Kept alive, several requests in one packet, a request in pieces, and a refusal that reaches the client."""
        url, _ = self.arm("main")
        port = int(url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), 5) as peer:
            peer.settimeout(5)
            peer.sendall(b"GET /count HTTP/1.1\r\nHost: x\r\n\r\n" * 3 + b"POST /entities HTTP/1.1\r\nContent-Le")
            peer.sendall(b'ngth: 21\r\n\r\n{"id":"a","type')
            peer.sendall(b'":"T"}GET /count HTTP/1.1\r\nConnection: close\r\n\r\n')
            text = b""
            while part := peer.recv(65536):
                text += part
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", text), [b"200"] * 3 + [b"201", b"200"])
        self.assertTrue(text.endswith(b'{"count":1}'))
        with socket.create_connection(("127.0.0.1", port), 5) as peer:
            peer.settimeout(5)
            peer.sendall(b"POST /entities HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"2\r\n{}\r\n" * 10000)
            self.assertIn(b" 411 ", peer.recv(65536))

    def test_identity_and_end(self):
        for name, commit in self.commits.items():
            with self.subTest(arm=name):
                url, process = self.arm(name)
                self.assertEqual(json.loads(http("GET", f"{url}/version")[2]), {"commit": commit, "build": "release"})
                self.assertEqual(stop(process), 0)
                self.assertEqual(git(self.top, "rev-parse", name), commit)

    def test_taken_port_and_wrong_arguments(self):
        url, _ = self.arm("main")
        broker = self.top / "arms" / "main" / "broker"
        taken = run([broker, "--port", url.rsplit(":", 1)[1]])
        self.assertEqual(taken.code, 1)
        self.assertIn("Address already in use", taken.err)
        for arguments in (["--port"], ["--port", "70000"], ["--colour", "red"], ["--forward", "ftp://x"]):
            self.assertEqual(run([broker, *arguments]).code, 2, arguments)

    def test_chain(self):
        behind, last = self.arm("main")
        url, _ = self.arm("main", "--forward", behind)
        self.assertEqual(self.create(url, {"id": "a", "type": "T"})[0], 201)
        self.assertEqual(http("GET", f"{behind}/entities/a")[0], 200)
        self.create(behind, {"id": "b", "type": "T"})
        self.assertEqual(http("GET", f"{url}/entities/b")[0], 200)
        stop(last)
        self.assertEqual(self.create(url, {"id": "c", "type": "T"})[0], 502)

    def test_journal(self):
        data = self.dir / "data"
        url, process = self.arm("main", "--data", data)
        http("POST", f"{url}/batch", [{"id": f"e{i}", "type": "T", "n": "\u00e9\t\n"} for i in range(5)])
        http("PATCH", f"{url}/entities/e1", {"n": 7})
        http("DELETE", f"{url}/entities/e0")
        before = http("GET", f"{url}/entities")[2]
        process.send_signal(signal.SIGKILL)
        process.wait()
        with (data / "journal").open("a") as journal:
            journal.write("+\thalf\tT\t{")  # what a killed broker may leave
        url, _ = self.arm("main", "--data", data)
        self.assertEqual(http("GET", f"{url}/entities")[2], before)

    def test_arms_answer_alike_or_not(self):
        """`same`, `regressed` and `faster` answer like `main`; `wrong-answers` does not."""
        entity = {"id": "a", "type": "T", "z": 1, "b": {"value": "x", "unit": "CEL"}}
        answers = {}
        for name in ("main", "same", "regressed", "faster", "wrong-answers"):
            url, _ = self.arm(name)
            self.create(url, entity)
            self.create(url, {**entity, "id": "b"})
            http("PATCH", f"{url}/entities/b", {"z": None, "y": True})
            answers[name] = [http("GET", url + path)[::2] for path in ("/entities/a", "/entities/b", "/entities", "/nope")]
        for name in ("same", "regressed", "faster"):
            self.assertEqual(answers[name], answers["main"], name)
        self.assertEqual(answers["wrong-answers"][0][0], 200)
        self.assertNotEqual(answers["wrong-answers"], answers["main"])

    def test_dying(self):
        """Only on the second start, after five requests."""
        starts = self.top / "arms" / "dying" / "broker.starts"
        starts.unlink(missing_ok=True)
        ends = []
        for _ in range(3):
            url, process = self.arm("dying")
            try:
                for _ in range(8):
                    http("GET", f"{url}/count")
            except OSError:
                pass
            ends.append(stop(process))
        self.assertEqual(ends, [0, 70, 0])

    def test_loads(self):
        """Every wrk script runs without one answer outside 2xx."""
        self.need("wrk")
        url, _ = self.arm("main")
        filled = run([BROKER / "fixture", "--url", url, "--count", "700"])
        self.assertEqual((filled.code, filled.out), (0, '{"created": 700}\n'), str(filled))
        for script, arguments in (("retrieve", ["700"]), ("query", ["5"]), ("patch", ["700"]), ("create", []),
                                  ("create", ["3"]), ("batch", ["7"]), ("delete", ["700", "2"])):
            ran = run(["wrk", "-t2", "-c6", "-d1s", "-s", BROKER / "wrk" / f"{script}.lua", url, "--", *arguments])
            self.assertEqual(ran.code, 0, str(ran))
            self.assertNotIn("Non-2xx", ran.out, script)
            self.assertNotIn("Socket errors", ran.out, script)
            self.assertRegex(ran.out, r"\d+ requests in", script)
        count = json.loads(http("GET", f"{url}/count")[2])["count"]
        self.assertEqual([e for e in json.loads(http("GET", f"{url}/entities?limit={count}")[2])
                          if e["id"].startswith("fixture")], [], "delete leaves none of the pool")


class History(Case):
    def test_two_are_the_same_and_small_options(self):
        options = ("--merges", "9", "--culprit", "4", "--second", "7", "--broken", "5", "--liar", "2", "--missing", "3,8")
        rows = make_history(self.dir / "one", *options)["merges"]
        again = make_history(self.dir / "two", *options, "--no-builds")["merges"]
        self.assertEqual([row["commit"] for row in rows], [row["commit"] for row in again])
        self.assertEqual(git(self.dir / "one", "status", "--porcelain"), "")
        line = git(self.dir / "one", "rev-list", "--first-parent", "--reverse", "main").split()
        self.assertEqual(line, [row["commit"] for row in rows])
        self.assertEqual([row["n"] for row in rows if row["role"]], [4, 5, 7])
        for row in rows:
            binary = self.dir / "one" / "builds" / row["commit"] / "broker"
            self.assertEqual(binary.exists(), row["n"] not in (3, 8))
            if row["n"] in (1, 2, 4, 5, 6, 7, 9):
                self.check_binary(binary, row)

    def check_binary(self, binary, row):
        if row["role"] == "broken":
            ran = run([binary, "--port", "0"])
            self.assertEqual(ran.code, 1, str(ran))
            self.assertIn("BROKER_TYPES", ran.err)
            return
        url, process = self.start_broker(binary)
        says = json.loads(http("GET", f"{url}/version")[2])["commit"]
        self.assertEqual(says == row["commit"], row["n"] != 2)
        stop(process)

    def test_titles_and_differences(self):
        rows = make_history(self.dir / "h", "--no-builds")["merges"]
        self.assertEqual(len(rows), 25)
        self.assertEqual([row["n"] for row in rows if row["role"] == "culprit"], [13])
        kinds = set()
        for row in rows[1:]:
            parents = git(self.dir / "h", "show", "-s", "--format=%P", row["commit"]).split()
            subject = git(self.dir / "h", "show", "-s", "--format=%s", row["commit"])
            self.assertEqual(len(parents), 1 if row["squash"] else 2)
            self.assertRegex(subject, rf"\(#{row['pr']}\)$" if row["squash"] else rf"^Merge pull request #{row['pr']} from ")
            changed = git(self.dir / "h", "diff", "--name-only", parents[0], row["commit"]).split()
            self.assertEqual("handlers.cpp" in changed, not row["docs_only"])
            kinds.add((row["squash"], row["docs_only"]))
        self.assertEqual(len(kinds), 4, "merge and squash, code and documentation")
        self.assertNotIn("@", re.sub(r"@example\.invalid", "", git(self.dir / "h", "log", "--format=%ae %ce %B")))

    def test_long_and_wrong(self):
        self.assertEqual(len(make_history(self.dir / "long", "--merges", "128", "--no-builds")["merges"]), 129)
        for options in (["--culprit", "25"], ["--culprit", "3", "--second", "3"], ["--merges", "129"]):
            ran = run([BROKER / "make-history", self.dir / "wrong", *options, "--no-builds"])
            self.assertNotEqual(ran.code, 0)
            self.assertNotIn("Traceback", ran.err)
        ran = run([BROKER / "make-history", self.dir / "long", "--no-builds"])
        self.assertIn("holds a repository already", ran.err)

    def test_a_checkout_builds_itself(self):
        """What a `build` target does: build.sh in a checkout without .git."""
        make_history(self.dir / "h", "--merges", "2", "--no-builds")
        commit = git(self.dir / "h", "rev-parse", "main")
        (self.dir / "out").mkdir()
        archive = subprocess.run(["git", "-C", self.dir / "h", "archive", "main"], stdout=subprocess.PIPE, check=True)
        (self.dir / "checkout").mkdir()
        subprocess.run(["tar", "-x", "-C", self.dir / "checkout"], input=archive.stdout, check=True)
        ran = run([self.dir / "checkout" / "build.sh", self.dir / "out", commit], timeout=300)
        self.assertEqual(ran.code, 0, str(ran))
        url, _ = self.start_broker(self.dir / "out" / "broker")
        self.assertEqual(json.loads(http("GET", f"{url}/version")[2])["commit"], commit)


if __name__ == "__main__":
    unittest.main()
