"""Secrets stay where they belong: nights, bisects, compares and their failures, and then everything that they left behind,
printed or had in a command line is searched for them."""
import json
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import support
from project import ProjectCase
from server import Engine, Server, postgres_programs, run_as_postgres

GOOD, SLOW = (1000, 5), (660, 5)
OPS = "default.work.ops"


class Watch(threading.Thread):
    """Looks at the command lines of all processes, and at the environments of all but nightgate and PostgreSQL's programs
    (pg_dump gets its password there), for as long as it runs."""

    def __init__(self, words):
        super().__init__(daemon=True)
        self.words, self.found, self.end, self.seen = [w.encode() for w in words], set(), threading.Event(), 0

    def run(self):
        looks = {str(os.getpid()): 1000}  # a process is looked at in its first moments, in which it becomes another program
        while not self.end.wait(0.005):
            for name in os.listdir("/proc"):
                if name.isdigit() and looks.get(name, 0) < 20:
                    looks[name] = looks.get(name, 0) + 1
                    self.look(name)

    def look(self, name):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            program = os.readlink(f"/proc/{name}/exe")
            environment = b"" if re.search(r"nightgate|pg_|postgres|psql", program) else Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            return
        self.seen += 1
        for word in self.words:
            if word in command or word in environment:
                self.found.add((word.decode(), program, command[:200].decode(errors="replace")))


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Canary(ProjectCase):
    def setUp(self):
        super().setUp()
        self.secrets = {}
        self.said = []

    def secret(self, variable):
        """A new secret for this variable of nightgate's environment."""
        self.secrets[variable] = f"canary{secrets.token_hex(12)}"
        return self.secrets[variable]

    def watch(self):
        self.watching = Watch(self.secrets.values())
        self.watching.start()
        self.addCleanup(self.watching.end.set)

    def go(self, *arguments, code=None, **changed):
        """Runs nightgate with all the secrets in its environment, and keeps what it printed."""
        environment = {**{v: s for v, s in self.environment.items()}, **changed}
        ran = self.program(*arguments, code=code, env=environment, timeout=300)
        self.said.append(f"{ran.out}\n{ran.err}\n{' '.join(map(str, arguments))}")
        return ran

    def check_nowhere(self, *places):
        """None of the secrets is in anything printed, in a command line, or in a file below the directories."""
        self.watching.end.set()
        self.watching.join()
        self.assertEqual(self.watching.found, set())
        self.assertGreater(self.watching.seen, 1000)
        words = list(self.secrets.values())
        for text in self.said:
            self.assertEqual([w for w in words if w in text], [], text[:3000])
        files = 0
        for place in places:
            for path in Path(place).rglob("*"):
                if path.is_symlink() or not path.is_file():
                    continue
                try:
                    data = path.read_bytes()
                except OSError:  # a mounted /sys of a container
                    continue
                files += 1
                self.assertEqual([w for w in words if w.encode() in data], [], path)
        self.assertGreater(files, 20)
        print(f"\n{self.id()}: {len(words)} secrets, {len(self.said)} runs, {files} files and {self.watching.seen:,} looks at processes",
              flush=True)

    def git_server(self, token):
        server = subprocess.Popen([sys.executable, "-c", f"import sys; sys.argv = ['git_http', {str(self.dir)!r}, sys.stdin.readline().strip()]; "
                                   f"exec(open({str(support.ROOT / 'tests/support/git_http.py')!r}).read())"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.stdin.close(), server.wait(10), server.stdout.close()))
        server.stdin.write(token + "\n")
        server.stdin.flush()
        port = int(server.stdout.readline())
        threading.Thread(target=lambda: [None for _ in server.stdout], daemon=True).start()
        return f"http://127.0.0.1:{port}/repo/.git"

    def store_server(self, password):
        server = Server()
        self.addCleanup(server.close)
        run_as_postgres("psql", "-Xq", "-h", server.dir, "-U", "nightgate", "-d", "nightgate", "-f", "-",
                        input=f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{password}'")
        hba = server.data / "pg_hba.conf"
        hba.write_text("local all guarded scram-sha-256\n" + hba.read_text())
        server.sql("SELECT pg_reload_conf()")
        return server

    def test_nights_and_a_bisect(self):
        if not postgres_programs():
            self.skipTest("no PostgreSQL here; ci/setup installs it")
        token, password = self.secret("NG_GIT"), self.secret("NG_STORE")
        github, hook = self.secret("GITHUB_TOKEN"), self.secret("NG_HOOK")
        self.environment = dict(self.secrets)
        server = self.store_server(password)
        webhook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=webhook.serve_forever, daemon=True).start()
        self.addCleanup(webhook.server_close)
        self.addCleanup(webhook.shutdown)
        self.environment["NG_HOOK"] = f"http://127.0.0.1:{webhook.server_address[1]}/{hook}"
        file = self.dir.with_name(self.dir.name + "-token")
        file.write_text(github)
        self.addCleanup(file.unlink)
        fake = self.start(["/usr/bin/python3", support.ROOT / "tests/fakes/github.py", "--user-token", file])
        while not fake.log.read_text().endswith("\n"):
            time.sleep(0.02)
        self.project([GOOD] * 12 + [SLOW] * 8)
        telling = self.dir / "telling"
        telling.write_text(f"#!/bin/sh\n{{ env; cat; }} >> {self.dir}/told\n")
        telling.chmod(0o755)
        builder = self.dir / "builder"  # a build sees nothing of ours either
        builder.write_text(f"#!/bin/sh\nenv >> {self.dir}/built\ncp {self.dir}/builds/$2/bench $1/\n")
        builder.chmod(0o755)
        config = self.made.config
        config.update({"repository": {"url": self.git_server(token), "branch": "main", "token_env": "NG_GIT"},
                       "targets": {"build": {"command": [str(builder), "{out}", "{sha}"]}},
                       "store": f"host={server.dir} user=guarded dbname=nightgate", "store_password_env": "NG_STORE",
                       "report": {"github": {"repository": "o/r", "api": fake.log.read_text().strip(), "token_env": "GITHUB_TOKEN"},
                                  "webhook_env": "NG_HOOK", "hook": [str(telling)]}})
        self.made.write_config()
        self.watch()
        for number in range(1, 8):
            self.made.main_at(number)
            self.go("nightly", code=0)
        self.made.main_at(14)
        self.go("nightly", code=0)
        self.made.main_at(15)
        tripped = json.loads(self.go("nightly", "--json", code=1).out)
        self.assertEqual(tripped["open_trips"][0]["answer"]["culprit"]["commit"], self.made.commits[12])
        for arguments in (("check",), ("status",), ("history", OPS), ("report", "trip", "1"), ("report", "night", "9"),
                          ("report", "site", "site"), ("export", "all.csv"), ("store", "status"), ("store", "backup", "backup"), ("ledger",),
                          ("measure", self.made.commits[3], "--json"), ("watch", "--by", "00:00"),
                          ("bisect", "--good", self.made.commits[6], "--bad", self.made.commits[13], "--metric", OPS, "--json")):
            self.assertNotIn(self.go(*arguments).code, (2, 5), self.said[-1])
        compared = self.go("compare", self.made.commits[6], self.made.commits[7], "--pairs", "3", "--record", "--json")
        (self.dir / "compared.json").write_text(compared.out)
        self.go("publish", "compared.json", "--exit-code", str(compared.code))
        # Everything that can go wrong: wrong secrets, nobody there, and a night into the spool.
        wrong = self.secret("wrong")
        for variable in ("NG_STORE", "NG_GIT", "GITHUB_TOKEN"):
            self.go("nightly", "--force", **{variable: wrong})
        self.go("store", "backup", "again", NG_STORE=wrong)
        self.go("check", NG_STORE=wrong, NG_GIT=wrong, GITHUB_TOKEN=wrong)
        os.kill(server.pid(), signal.SIGKILL)
        self.go("nightly", "--force")
        self.go("store", "status")
        self.assertTrue(list((self.dir / "state" / "spool").iterdir()), self.said[-2])
        server.start()
        fake.kill()
        self.go("nightly", "--force")
        (self.dir / "dump.sql").write_text(run_as_postgres(server.programs / "pg_dump", "-h", server.dir, "-U", "nightgate", "nightgate"))
        self.assertIn("Change number 13", (self.dir / "dump.sql").read_text())
        self.assertEqual((self.dir / "state").stat().st_mode & 0o777, 0o700)  # also when a clone or a build comes first
        self.check_nowhere(self.dir, server.dir)
        for name in ("told", "built"):
            for variable in self.secrets:
                self.assertNotIn(f"\n{variable}=", (self.dir / name).read_text(), f"{name} was given a secret")

    def test_the_registry_s_password(self):
        if why := Engine.missing():
            self.skipTest(why)
        engine = Engine()
        self.addCleanup(engine.close)
        services = engine.env()
        self.secrets["NG_REGISTRY"] = services["REGISTRY_PASSWORD"]
        self.environment = dict(self.secrets)
        self.project([None] * 3)
        for commit in self.made.commits:
            name = f"{services['REGISTRY']}/shop:{commit}"
            (self.dir / "salt").write_text(commit)
            tar = subprocess.run(["tar", "-C", self.dir, "-c", "salt"], check=True, stdout=subprocess.PIPE).stdout
            engine.docker("import", "--change", f"LABEL org.opencontainers.image.revision={commit}", "-", name, input=tar)
            engine.docker("push", name)
            engine.docker("rmi", name)
        config = self.made.config
        load = self.dir / "load"
        load.write_text("#!/bin/sh\necho '{\"ops\": 1000.'$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')'}'\n")
        load.chmod(0o755)
        config["targets"] = {"image": {"reference": services["REGISTRY_AUTH"] + "/shop:{sha}", "username": services["REGISTRY_USER"],
                                       "password_env": "NG_REGISTRY"}}
        config["engine"] = engine.address
        config["deployments"] = {"default": {"services": {"side": {"image": "ng-side:1"}}}}
        config["scenarios"]["work"].update({"load": {"command": [str(load)]}, "metrics": {"ops": {"unit": "1/s"}}})
        self.made.write_config()
        self.watch()
        for number in (1, 2):
            self.made.main_at(number)
            self.go("nightly", code=0)
        self.go("compare", self.made.commits[0], self.made.commits[1], "--pairs", "2", "--max-minutes", "2")
        self.go("check")
        wrong = self.secret("wrong")
        self.made.main_at(3)
        self.go("nightly", NG_REGISTRY=wrong)
        self.go("check", NG_REGISTRY=wrong)
        for name in ("htpasswd", "env"):  # where the test itself keeps it
            (engine.dir / name).rename(self.dir.with_name(self.dir.name + "-" + name))
            self.addCleanup(self.dir.with_name(self.dir.name + "-" + name).unlink)
        self.check_nowhere(self.dir, engine.dir)

    def test_no_core_file_and_no_look_into_its_memory(self):
        """A core file of nightgate would hold its secrets, and so would /proc/PID/mem for a process of the same user."""
        self.project([GOOD])
        slow = self.dir / "slow"
        slow.write_text("#!/bin/sh\nsleep 60\n")
        slow.chmod(0o755)
        self.made.config["scenarios"]["work"]["load"]["command"] = [str(slow)]
        self.made.write_config()

        def unlimited():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        def crashed(arguments, ready):
            process = subprocess.Popen([str(a) for a in arguments], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=unlimited)
            end = time.monotonic() + 60
            while not ready() and time.monotonic() < end:
                time.sleep(0.05)
            process.send_signal(signal.SIGSEGV)
            return os.WCOREDUMP(os.waitpid(process.pid, 0)[1])

        try:
            could = crashed(["sleep", "60"], lambda: time.sleep(0.2) or True)
        except (OSError, ValueError):
            could = False
        for core in self.dir.glob("core*"):  # the control's
            core.unlink()
        began = [support.PROGRAM, "measure", self.made.commits[0]]
        dumped = crashed(began, lambda: list((self.dir / "state" / "run").glob("*")))
        self.assertFalse(dumped)
        self.assertEqual(list(self.dir.glob("core*")), [])
        if not could:
            self.skipTest("core files are switched off on this machine, for everybody")


if __name__ == "__main__":
    unittest.main()
