"""Engine and registry away: after bounded tries a clear 'could not measure', never a figure, and never a hang."""
import json
import os
import socket
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from project import ProjectCase
from server import Engine

# What the fake engine says to everything, whole or not.
ENGINE_FAULTS = {
    "errors": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 24\r\n\r\n{\"message\":\"no devices\"}\n",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"ApiVersion\":",
    "no engine": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "no HTTP": b"-ERR unknown command\r\n",
    "hangs up": b"",
}


class Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    how, asked = "errors", 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        Registry.asked += 1
        if self.how == "hangs up":
            self.close_connection = True
            return
        if self.how == "garbage":
            self.wfile.write(b"\x00\x01\x02 no http at all\r\n\r\n")
            self.close_connection = True
            return
        status = {"errors": 500, "limit": 429, "closed": 503}.get(self.how, 200)
        self.send_response(status)
        body = b'{"errors":[{"code":"TOOMANYREQUESTS","message":"you have reached your pull rate limit"}]}'
        if self.how == "limit":
            self.send_header("Retry-After", "1")
        if self.how == "another digest":
            self.send_header("Docker-Content-Digest", "sha256:" + "a" * 64)
            body = b'{"schemaVersion":2,"config":{"digest":"sha256:' + b"b" * 64 + b'"}}'
        if self.how == "endless":
            self.send_header("Content-Length", str(100 << 20))
            try:
                self.end_headers()
                for _ in range(100):
                    self.wfile.write(b" " * (1 << 20))
            except OSError:
                pass
            return
        self.send_header("Content-Length", str(len(body) + (1000 if self.how == "half" else 0)))
        self.close_connection = True
        try:
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)
        except OSError:
            pass  # nightgate had enough

    do_HEAD = do_GET


class Away(ProjectCase):
    def fails(self, *words, seconds=30):
        began = time.monotonic()
        ran = self.program("nightly", "--json", code=None)
        self.assertIn(ran.code, (3, 4), str(ran))
        self.assertLess(time.monotonic() - began, seconds)
        for word in words:
            self.assertIn(word, ran.out + ran.err)
        document = json.loads(ran.out)
        self.assertNotIn(document.get("verdict"), ("good", "suspect", "regression"))
        status = self.program("status", "--json", code=None).json()
        self.assertEqual(status["red"], [])

    def test_an_engine_that_is_away_or_broken(self):
        self.project([(1000, 5)] * 2)
        self.night(1)
        path = self.dir / "engine.sock"
        self.made.config["engine"] = f"unix://{path}"
        self.made.config["deployments"] = {"default": {"services": {"side": {"image": "ng-side:1"}}}}
        self.made.write_config()
        self.made.main_at(2)
        self.fails("there is no container engine", "engine.sock")
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(str(path))
        self.fails("did not answer")  # bound, and nobody listens
        listening.listen(8)
        fault = {"bytes": b""}

        def serve():
            while True:
                try:
                    client, _ = listening.accept()
                    client.recv(65536)
                    client.sendall(fault["bytes"])
                    client.close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        for name, answer in ENGINE_FAULTS.items():
            with self.subTest(name):
                fault["bytes"] = answer
                self.fails("engine")

    def test_a_registry_that_is_away_or_broken(self):
        if why := Engine.missing():
            self.skipTest(why)
        engine = Engine()
        self.addCleanup(engine.close)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        host = f"127.0.0.1:{server.server_address[1]}"
        self.project([None] * 2, engine=engine.address)
        self.made.config["targets"] = {"image": host + "/shop:{sha}"}
        self.made.write_config()
        for how, most_asked, words in (("errors", 8, ["500"]), ("limit", 8, ["429"]), ("closed", 8, []),
                                       ("half", 8, []), ("hangs up", 12, []), ("garbage", 12, []),
                                       ("another digest", 8, ["not what its digest says"]), ("endless", 8, [])):
            with self.subTest(how):
                Registry.how, Registry.asked = how, 0
                self.fails(host if how not in ("another digest",) else "", *words, seconds=60)
                self.assertLessEqual(Registry.asked, most_asked, how)
        # TLS: asked for where there is none.
        (self.dir / "ca.pem").write_text("")
        self.made.config["targets"] = {"image": {"reference": host + "/shop:{sha}", "ca_file": "ca.pem"}}
        self.made.write_config()
        self.fails(seconds=60)


if __name__ == "__main__":
    unittest.main()
