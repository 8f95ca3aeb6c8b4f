#!/usr/bin/env python3
"""A load for short measurements: requests down one connection without waiting, so that the server's own time per request is
what is measured. Prints {"rate": requests per second}; anything but 2xx answers is a failure.

  pipelined.py URL create COUNT          creates of about 4.7 KB, with new ids
  pipelined.py URL get PATH COUNT        the same GET, again and again, accepting gzip"""
import json
import os
import re
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

ATTRIBUTES = ", ".join(f'"attribute{i:02d}": {{"type": "Number", "value": {i * 7}.25, "observedAt": "2026-03-02T09:{i:02d}:00Z", '
                       f'"unit": "CEL", "source": {{"type": "Relationship", "object": "urn:device:{i:04d}"}}}}'
                       for i in range(1, 31))


def create(i):
    body = f'{{"id":"urn:e:{os.getpid()}-{time.time_ns()}-{i}","type":"Room",{ATTRIBUTES}}}'
    return f"POST /entities HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n", body


def get(path):
    return lambda _: (f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n", "")


def main():
    url, kind, *rest = sys.argv[1:]
    count = int(rest[-1])
    make = create if kind == "create" else get(rest[0])
    requests = [make(i) for i in range(count)]
    data = "".join(f"{head}{'Connection: close' if i + 1 == count else 'X-Number: ' + str(i)}\r\n\r\n{body}"
                   for i, (head, body) in enumerate(requests)).encode()
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), 20) as peer:
        peer.settimeout(20)
        began = time.monotonic()
        sending = threading.Thread(target=peer.sendall, args=(data,), daemon=True)
        sending.start()
        parts = []
        while part := peer.recv(1 << 20):
            parts.append(part)
        seconds = time.monotonic() - began
    answers = re.findall(rb"HTTP/1\.1 (\d\d\d) ", b"".join(parts))
    if len(answers) != count or any(not status.startswith(b"2") for status in answers):
        sys.exit(f"pipelined.py: {len(answers)} answers to {count} requests, statuses {sorted(set(answers))}")
    print(json.dumps({"rate": count / seconds}))


if __name__ == "__main__":
    main()
