"""The units of ci/systemd: what systemd-analyze says about them, and nights run in them by a systemd of their own."""
import json
import os
import re
import shutil
import time
import unittest

import machine
import support
from project import Project
from test_package import make_package

UNITS = support.ROOT / "ci" / "systemd"
# Of a service that measures others it can't be less: what is left open, and why, stands in the unit.
EXPOSURE = {"nightgate-nightly.service": 2.1, "nightgate-watch.service": 1.7, "nightgate-alert@.service": 1.7}

# A server that needs what the unit leaves open: memory that is written and run, as just-in-time compilers make it (wrk's LuaJIT
# would go on without, slower and without a word), and the machine's load and pressure.
SERVER = """#!/usr/bin/python3
import http.server, mmap, os, sys
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
for path in ("/proc/loadavg", "/proc/stat", "/proc/1/stat", "/proc/pressure/cpu"):
    if path != "/proc/pressure/cpu" or os.path.exists("/proc/pressure"):
        open(path).read()
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""

# Keeps what it is sent.
HOOK = """#!/usr/bin/python3
import http.server
class Keep(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open("/srv/events", "ab") as out:
            out.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\\n")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 8099), Keep).serve_forever()
"""


class Analysis(support.Case):
    def setUp(self):
        super().setUp()
        self.need("systemd-analyze")

    def test_exposure(self):
        for name, limit in EXPOSURE.items():
            ran = support.run(["systemd-analyze", "security", "--offline=true", f"--threshold={round(limit * 10)}", UNITS / name],
                              env={"SYSTEMD_PAGER": ""})
            said = ran.out.splitlines()[-1] if ran.out else str(ran)
            print(f"  {name}: {re.search(r'[0-9.]+ [A-Z]+', said).group()} (at most {limit})")
            self.assertEqual(ran.code, 0, said)

    def test_every_night_has_one_hour(self):
        for timer, hour in (("nightly", "02:30:00"), ("watch", "09:00:30")):
            text = (UNITS / f"nightgate-{timer}.timer").read_text()
            calendar = re.search(r"(?m)^OnCalendar=(.*)$", text).group(1)
            # Across the night when clocks change: each day has its night, whatever the machine's time zone.
            ran = support.run(["systemd-analyze", "calendar", "--iterations=4", "--base-time=2027-03-26 12:00:00 UTC", calendar],
                              env={"TZ": "Europe/Berlin"})
            self.assertEqual(ran.code, 0, str(ran))
            times = re.findall(r"\(in UTC\): \w+ (\S+ \S+) UTC", ran.out)
            self.assertEqual(times, [f"2027-03-{day} {hour}" for day in (27, 28, 29, 30)], ran.out)

    def test_hardening_is_the_same_where_it_can_be(self):
        def lines(name):
            text = (UNITS / name).read_text()
            hardening = text[text.index("# Hardening"):].splitlines()
            return {line for line in hardening if "=" in line and line[0] not in "#"
                    and not line.startswith(("SystemCallFilter", "Capability", "Ambient", "MemoryDeny"))}

        night = lines("nightgate-nightly.service")
        self.assertGreater(len(night), 15)
        self.assertEqual(lines("nightgate-watch.service"), night)
        self.assertEqual(lines("nightgate-alert@.service"), night)


class Nights(support.Case):
    """One machine for all: each test is a step that the next ones build on."""

    def setUp(self):
        machine.need_machine()
        super().setUp()

    def test_nights_under_systemd(self):
        self.need("wrk")
        package = make_package(self.dir, "0.1.0")
        root = self.dir / "files"
        self.prepare(root)
        shutil.copy(package, root / "srv" / "nightgate.deb")
        self.host = machine.Machine(self.dir, os.environ.get("NIGHTGATE_TEST_ROOT", "/"))
        self.addCleanup(self.host.stop)
        run = self.host.run
        run("dpkg", "-i", "/srv/nightgate.deb")
        run("chown", "-R", "nightgate:", "/srv/fast")
        run("systemctl", "start", "hook")
        for step in (self.verified, self.night, self.regression_is_no_failed_unit, self.failure_is_told_once, self.two_projects,
                     self.timers, self.stopped_in_the_middle):
            print(f"  {step.__name__}", flush=True)
            step()

    def prepare(self, root):
        (root / "srv").mkdir(parents=True)
        made = Project(root / "srv" / "fast", [(1000, 2.0)])
        for build in (root / "srv/fast/builds").iterdir():
            (build / "server").write_text(SERVER)
            (build / "server").chmod(0o755)
        (root / "srv/hook").write_text(HOOK)
        unit = root / "etc/systemd/system/hook.service"
        unit.parent.mkdir(parents=True)
        unit.write_text("[Service]\nExecStart=/usr/bin/python3 /srv/hook\n")
        self.config = made.config
        del self.config["state"]
        self.config["repository"]["path"], self.config["targets"]["artifact"] = "/srv/fast/repo", "/srv/fast/builds/{sha}"
        self.config["deployments"] = {"default": {"broker": {"command": ["./server"], "args": ["{broker.port}"], "port": 8077,
                                                             "ready": "/"}}}
        self.config["scenarios"] = {"get": {"load": {"wrk": {"connections": 2, "seconds": 1, "path": "/"}}, "repeats": 2,
                                            "warmup_seconds": 0}}
        self.config["night"]["starts"] = 1
        self.config["report"] = {"webhook_env": "WEBHOOK_URL"}
        self.write("/etc/nightgate/nightgate.json", json.dumps(self.config), root)

    def write(self, path, text, root=None):
        if root is None:
            self.host.run("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path}", stdin=text)
        else:
            (root / "srv/wanted.json").write_text(text)

    def show(self, unit, *properties):
        ran = self.host.run("systemctl", "show", unit, *[f"--property={p}" for p in properties])
        return dict(line.split("=", 1) for line in ran.out.splitlines())

    def watched(self, unit):
        """Starts it and waits for its end; the status lines seen meanwhile. (systemd forgets what an inactive unit said.)"""
        self.host.run("systemctl", "start", "--no-block", unit)
        seen = set()
        def over():
            shown = self.show(unit, "StatusText", "ActiveState")
            seen.add(shown["StatusText"])
            return shown["ActiveState"] in ("inactive", "failed") and shown
        self.assertEqual(self.until(over, lambda: seen)["ActiveState"], "inactive", self.journal(unit))
        return seen

    def journal(self, unit):
        ran = self.host.run("journalctl", "--no-pager", "-o", "json", "-u", unit)
        return [json.loads(line) for line in ran.out.splitlines()]

    def events(self):
        ran = self.host.run("cat", "/srv/events", code=None)
        return [json.loads(line) for line in ran.out.splitlines()]

    def verified(self):
        """Not a word from systemd-analyze, with program and manual page in place."""
        for unit in ("nightgate-nightly.service", "nightgate-nightly@shop.service", "nightgate-nightly.timer",
                     "nightgate-nightly@shop.timer", "nightgate-watch.service", "nightgate-watch@shop.timer",
                     "nightgate-watch.timer", "nightgate-alert@nightgate-nightly.service.service"):
            ran = self.host.run("systemd-analyze", "verify", "--man=yes", unit)
            self.assertEqual(ran.out + ran.err, "", unit)

    def night(self):
        self.host.run("install", "-m", "644", "/srv/wanted.json", "/etc/nightgate/nightgate.json")
        self.write("/etc/nightgate/credentials/webhook-url", "http://127.0.0.1:8099/secret-path\n")
        statuses = self.watched("nightgate-nightly")
        self.assertTrue(any(re.search(r"get.*: [\d,.]+, \d+ s left", text) for text in statuses), statuses)
        lines = self.journal("nightgate-nightly")
        ours = [line for line in lines if line.get("SYSLOG_IDENTIFIER") == "nightgate"]
        priorities = {line["MESSAGE"]: line["PRIORITY"] for line in ours}
        self.assertTrue(any("making the private PostgreSQL" in m and p == "5" for m, p in priorities.items()), priorities)
        self.assertTrue(any(m.startswith("  default.get start 1: ") and " rate " in m and p == "6" for m, p in priorities.items()), priorities)
        self.assertFalse([m for m in priorities if re.match(r"<\d>", m) or "secret-path" in m or "is not told" in m], priorities)
        self.assertTrue(any(m.startswith("night 1 ") for m in priorities), priorities)
        # Where this machine has no counters the kernel says so itself, and not that we may not.
        self.assertFalse([m for m in priorities if "counters are absent" in m and "ermi" in m], priorities)
        document = json.loads(self.host.run("runuser", "-u", "nightgate", "--", "nightgate", "history", "--json", "--config",
                                            "/etc/nightgate/nightgate.json").out)
        self.assertIn("default.get.rate", json.dumps(document))

    def regression_is_no_failed_unit(self):
        for code in (1, 4):
            self.write("/run/systemd/system/nightgate-nightly.service.d/test.conf",
                       f"[Unit]\nOnFailure=\n[Service]\nExecStart=\nExecStart=sh -c 'exit {code}'\n")
            self.host.run("systemctl", "daemon-reload")
            self.host.run("systemctl", "start", "nightgate-nightly", code=0 if code == 1 else 1)
        self.host.run("systemctl", "reset-failed", "nightgate-nightly")

    def failure_is_told_once(self):
        """The night can't be measured: the unit fails, its alert tells so, and the watch has nothing to add."""
        self.host.run("rm", "/run/systemd/system/nightgate-nightly.service.d/test.conf")
        broken = dict(self.config, project="broken", engine="unix:///nonexistent/engine.sock")
        self.write("/etc/nightgate/broken/nightgate.json", json.dumps(broken))
        self.host.run("systemctl", "daemon-reload")
        ran = self.host.run("systemctl", "start", "nightgate-nightly@broken", code=1)
        self.assertIn("failed", ran.err)
        self.assertEqual(self.show("nightgate-nightly@broken", "Result", "ExecMainStatus"), {"Result": "exit-code", "ExecMainStatus": "3"})
        alert = "nightgate-alert@nightgate-nightly@broken.service.service"
        self.until(self.events, lambda: self.journal(alert))
        self.host.run("systemctl", "is-failed", alert, code=1)
        told = self.events()
        self.assertEqual([event["event"] for event in told], ["no_night"])
        self.assertIn("nightgate-nightly@broken.service failed", told[0]["text"])
        self.host.run("systemctl", "start", alert)
        self.assertEqual(len(self.events()), 1, "the same night is not told twice")

    def two_projects(self):
        """A night of another project, in an instance of its own."""
        other = dict(self.config, project="other")
        self.write("/etc/nightgate/other/nightgate.json", json.dumps(other))
        self.host.run("systemctl", "start", "nightgate-nightly@other", timeout=180)
        self.host.run("test", "-d", "/var/lib/nightgate/other/postgres")
        self.host.run("systemctl", "start", "nightgate-watch@other")
        # By hand, as the same user: the secret is found without systemd, once the group may read it.
        hand = ["runuser", "-u", "nightgate", "--", "nightgate", "watch", "--config", "/etc/nightgate/other/nightgate.json"]
        self.host.run("chmod", "600", "/etc/nightgate/credentials/webhook-url")
        self.assertIn("WEBHOOK_URL is not set", self.host.run(*hand, code=None).err)
        self.host.run("sh", "-c", "cd /etc/nightgate/credentials && chgrp nightgate webhook-url && chmod 640 webhook-url")
        self.assertNotIn("not told", self.host.run(*hand, code=None).err)
        self.assertTrue(any("ALARM" in line["MESSAGE"] or "fine" in line["MESSAGE"] for line in self.journal("nightgate-watch@other")))

    def timers(self):
        self.host.run("systemctl", "enable", "--now", "nightgate-nightly.timer", "nightgate-watch.timer")
        shown = self.show("nightgate-nightly.timer", "NextElapseUSecRealtime", "AccuracyUSec", "Persistent", "ActiveState")
        self.assertIn("02:30:00 UTC", shown["NextElapseUSecRealtime"])
        self.assertEqual((shown["AccuracyUSec"], shown["Persistent"], shown["ActiveState"]), ("1s", "no", "active"))

    def stopped_in_the_middle(self):
        """`systemctl stop` ends a measurement cleanly: nothing of it is left."""
        slow = json.loads(json.dumps(self.config))
        slow["scenarios"]["get"]["load"]["wrk"]["seconds"] = 60
        slow["project"] = "slow"
        self.write("/etc/nightgate/slow/nightgate.json", json.dumps(slow))
        unit = "nightgate-nightly@slow"
        self.host.run("systemctl", "start", "--no-block", unit)
        self.until(lambda: "get" in self.show(unit, "StatusText")["StatusText"] and self.host.run("pgrep", "wrk", code=None).out,
                   lambda: self.show(unit, "StatusText", "ActiveState"))
        self.assertIn("s left", self.until(lambda: (s := self.show(unit, "StatusText")["StatusText"]) and "s left" in s and s, str))
        self.host.run("systemctl", "stop", unit, timeout=60)
        self.assertEqual(self.host.run("pgrep", "-u", "nightgate", "-l", "", code=1).out, "")

    def until(self, done, why, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := done():
                return value
            time.sleep(0.2)
        return self.fail(why())


if __name__ == "__main__":
    unittest.main()
