#!/usr/bin/env python3
"""Stand-ins for what config/ready/ is written for, just large enough to be measured:

  stand_in.py broker --port N [--commit SHA] [ANYTHING...]   an NGSI-LD broker, in memory whatever it is told
  stand_in.py api                                             $PORT: a server that runs SQL on $DATABASE_URL
  stand_in.py postgres PORT                                   a PostgreSQL server with pg_stat_statements
  stand_in.py k6 run ... -e URL=URL ... SCRIPT                a few hundred requests; prints a summary as k6's handleSummary
"""
import asyncio
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = "/ngsi-ld/v1"


class Broker(asyncio.Protocol):
    """HTTP with Content-Length and kept connections; one dictionary of entities."""

    entities = {}
    commit = ""

    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = self.data[:end].decode("latin-1")
            length = re.search(r"(?im)^content-length: *(\d+)", head)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self.data) < size:
                return
            body, self.data = self.data[end + 4:size], self.data[size:]
            method, target, _ = head.split(" ", 2)
            status, answer, headers = self.handle(method, urlsplit(target), json.loads(body) if body else None)
            text = b"" if answer is None else json.dumps(answer).encode()
            more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            self.transport.write(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}"
                                 f"Content-Length: {len(text)}\r\n\r\n".encode() + text)

    def handle(self, method, url, body):
        if url.path == "/version":
            return 200, {"commit": self.commit, "build": "release"}, {}
        if method == "POST" and url.path.startswith(f"{ROOT}/entityOperations/"):
            return self.batch(url.path.rsplit("/", 1)[1], body)
        if url.path == f"{ROOT}/entities":
            return self.create(body) if method == "POST" else self.query(parse_qs(url.query))
        found = re.fullmatch(f"{ROOT}/entities/([^/]+)(/attrs)?", url.path)
        entity = self.entities.get(found[1]) if found else None
        if entity is None:
            return 404, {"title": "no such entity"}, {}
        if method == "GET":
            return 200, entity, {}
        if method == "DELETE":
            del self.entities[found[1]]
        else:
            entity.update(body)
        return 204, None, {}

    def create(self, entity):
        if entity["id"] in self.entities:
            return 409, {"title": "exists"}, {}
        self.entities[entity["id"]] = entity
        return 201, None, {}

    def query(self, wanted):
        kind, limit = wanted["type"][0], int(wanted.get("limit", ["20"])[0])
        found = []
        for entity in self.entities.values():
            if entity["type"] == kind and len(found) < limit:
                found.append(entity)
            if len(found) == limit and "count" not in wanted:
                break
        count = sum(e["type"] == kind for e in self.entities.values()) if "count" in wanted else 0
        return 200, found, {"NGSILD-Results-Count": count} if "count" in wanted else {}

    def batch(self, kind, body):
        ids = body if kind == "delete" else [entity["id"] for entity in body]
        if any((one in self.entities) == (kind == "create") for one in ids):
            return 207, {"errors": ids}, {}
        for one in body:
            if kind == "delete":
                del self.entities[one]
            elif kind == "update":
                self.entities[one["id"]].update(one)
            else:
                self.entities[one["id"]] = one
        return (201, ids, {}) if kind == "create" else (204, None, {})


async def broker(arguments):
    port = int(arguments[arguments.index("--port") + 1])
    Broker.commit = arguments[arguments.index("--commit") + 1] if "--commit" in arguments else ""
    server = await asyncio.get_running_loop().create_server(Broker, "127.0.0.1", port)
    await server.serve_forever()


def api():
    """Each POST of an order is two statements of one psql, which stays open."""
    psql = subprocess.Popen(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", os.environ["DATABASE_URL"]], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    one_at_a_time = threading.Lock()

    def sql(text):
        with one_at_a_time:
            psql.stdin.write(text + ";\n\\echo end\n")
            psql.stdin.flush()
            rows = []
            while (line := psql.stdout.readline()) != "end\n":
                if not line:
                    os._exit(1)  # psql said why
                rows.append(line.rstrip())
            return rows

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.answer(200, {"orders": int(sql("SELECT count(*) FROM orders")[0])})

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            number = sql("INSERT INTO orders (note) VALUES ('an order') RETURNING id")[0]
            sql(f"SELECT note FROM orders WHERE id = {number}")
            self.answer(201, {"id": int(number)})

    sql("CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, note text)")
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()


def postgres(port):
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    directory = Path(tempfile.mkdtemp(prefix="stand-in-postgres-"))
    user = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(directory, "postgres", "postgres")
    subprocess.run([*user, programs / "initdb", "-D", directory / "data", "-A", "trust", "-U", "postgres", "--no-sync", "-E",
                    "UTF8", "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/")
    settings = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on", "fsync=off",
                "listen_addresses=127.0.0.1", f"unix_socket_directories={directory}"]
    server = subprocess.Popen([*user, programs / "postgres", "-D", directory / "data", "-p", port,
                               *(word for setting in settings for word in ("-c", setting))], cwd="/")
    signal.signal(signal.SIGTERM, lambda *_: server.send_signal(signal.SIGINT))
    server.wait()
    shutil.rmtree(directory, ignore_errors=True)


def k6(arguments, count=200):
    url = urlsplit(next(a for a in arguments if a.startswith("URL="))[4:])
    if not Path(arguments[-1]).exists():
        sys.exit(f"k6: no script {arguments[-1]}")
    peer = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    times, began = [], time.monotonic()
    for _ in range(count):
        start = time.monotonic()
        peer.request("POST", "/orders", b'{"item": 7}')
        with peer.getresponse() as answer:
            answer.read()
            if answer.status != 201:
                sys.exit(f"k6: {answer.status}")
        times.append(1000 * (time.monotonic() - start))
    times.sort()
    trend = {"avg": sum(times) / count, "min": times[0], "med": times[count // 2], "max": times[-1],
             "p(90)": times[count * 90 // 100], "p(95)": times[count * 95 // 100]}
    rate = count / (time.monotonic() - began)
    print(json.dumps({"metrics": {
        "http_req_duration": {"type": "trend", "contains": "time", "values": trend},
        "http_reqs": {"type": "counter", "contains": "default", "values": {"count": count, "rate": rate}},
        "http_req_failed": {"type": "rate", "contains": "default", "values": {"rate": 0, "passes": 0, "fails": count}}}}))


def main():
    kind, *arguments = sys.argv[1:]
    if kind == "broker":
        asyncio.run(broker(arguments))
    elif kind == "api":
        api()
    elif kind == "postgres":
        postgres(arguments[0])
    else:
        k6(arguments)


if __name__ == "__main__":
    main()
