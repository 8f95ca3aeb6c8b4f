#!/usr/bin/env python3
"""A server that misbehaves on request, for the tests of gate/measure.

  measure_server.py --port N [--status N] [--version JSON] [--delay SECONDS] [--exit-after N] [--cpu-ms N]
                    [--stall-at N --stall SECONDS]

Answers every request with the status and {"count": 1}; /version with the JSON given. `--delay` waits before listening,
`--exit-after` ends the process after so many answers, `--cpu-ms` makes the process use that much CPU time for each, its
own work included; at the N-th request `--stall-at` makes it stand still for a while."""
import argparse
import json
import os
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--status", type=int, default=200)
parser.add_argument("--version", default="{}")
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--exit-after", type=int, default=0)
parser.add_argument("--cpu-ms", type=float, default=0)
parser.add_argument("--stall-at", type=int, default=0)
parser.add_argument("--stall", type=float, default=0)
options = parser.parse_args()
answered = 0
base = None
turn = threading.Lock()  # one at a time: who stands still makes all wait


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self):
        with turn:
            self.answer_now()

    def answer_now(self):
        global answered, base
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        if base is None:
            base = time.process_time()
        answered += 1
        if answered == options.stall_at:
            time.sleep(options.stall)
        if options.exit_after and answered > options.exit_after:
            print("measure_server: giving up on purpose", file=sys.stderr, flush=True)
            os._exit(7)
        while options.cpu_ms and time.process_time() < base + answered * options.cpu_ms / 1000:
            pass
        body = (options.version if self.path == "/version" else json.dumps({"count": 1})).encode()
        self.send_response(200 if self.path == "/version" else options.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Total-Count", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = do_PATCH = answer

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


time.sleep(options.delay)
with Server(("127.0.0.1", options.port), Handler) as server:
    server.serve_forever()
