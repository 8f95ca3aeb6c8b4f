#!/usr/bin/env python3
"""Serves the git repositories below a directory by smart HTTP (git http-backend) on loopback, behind basic authentication.

  git_http.py DIR TOKEN

Prints its port, then one line for each request: its status. Ends with its standard input."""
import base64
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, TOKEN = sys.argv[1], sys.argv[2]
WANTED = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def answer(self):
        if self.headers.get("Authorization") != WANTED:
            self.reply(401, [("WWW-Authenticate", 'Basic realm="git"')], b"no")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        environment = {"GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                       "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1", "PATH": os.environ["PATH"],
                       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        out = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in lines if name == "Status"), 200)
        self.reply(status, [(name, value) for name, value in lines if name != "Status"], content)

    def reply(self, status, headers, content):
        print(status, flush=True)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
