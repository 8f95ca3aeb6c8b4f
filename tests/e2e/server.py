"""PostgreSQL and a container engine of a test's own, which it may kill, fill up and start again."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import support

AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def postgres_programs():
    """The directory of the newest server installed, or None."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda p: float(p.parent.name))


def run_as_postgres(*arguments, check=True, **options):
    ran = subprocess.run([*AS_POSTGRES, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         cwd="/", check=False, **options)
    if check and ran.returncode != 0:
        raise AssertionError(f"{arguments} ended with {ran.returncode}:\n{ran.stdout}")
    return ran.stdout


def sql(socket, statement, user="nightgate", database="nightgate", **environment):
    """Rows of an SQL statement, as lists of texts."""
    ran = subprocess.run([*AS_POSTGRES, "psql", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", str(socket), "-U", user, "-d",
                          database, "-c", statement], text=True, cwd="/", capture_output=True, check=False,
                         env={**os.environ, **environment})
    if ran.returncode != 0:
        raise AssertionError(f"{statement}\n{ran.stderr}")
    return [line.split("\t") for line in ran.stdout.splitlines()]


class Server:
    """A cluster below /tmp (or `place`), on a unix socket only."""

    def __init__(self, place=None, settings=()):
        self.programs = postgres_programs()
        self.dir = Path(tempfile.mkdtemp(prefix="ng-pg-", dir=place))
        if AS_POSTGRES:
            shutil.chown(self.dir, "postgres", "postgres")
        self.data = self.dir / "data"
        run_as_postgres(self.programs / "initdb", "-D", self.data, "-U", "nightgate", "-A", "trust", "-E", "UTF8", "--no-locale",
                        "--no-sync")
        self.settings = ["listen_addresses=", f"unix_socket_directories={self.dir}", "max_connections=30", *settings]
        self.start()
        sql(self.dir, "CREATE DATABASE nightgate", database="postgres")
        self.where = f"host={self.dir} user=nightgate dbname=nightgate"

    def start(self):
        words = " ".join(f"-c '{setting}'" for setting in self.settings)
        # A killed server's children may still be ending: their shared memory keeps the next one from starting.
        for _ in range(20):
            said = run_as_postgres(self.programs / "pg_ctl", "-D", self.data, "-l", self.dir / "log", "-o", words, "-w", "-t", "60",
                                   "start", check=False)
            if self.pid():
                return
            time.sleep(0.2)
        raise AssertionError(said + (self.dir / "log").read_text())

    def pid(self):
        return postmaster(self.data)

    def sql(self, statement, **options):
        return sql(self.dir, statement, **options)

    def close_for_now(self):
        if pid := self.pid():
            os.kill(pid, signal.SIGQUIT)
        end = time.monotonic() + 20
        while self.pid() and time.monotonic() < end:
            time.sleep(0.05)

    def close(self):
        self.close_for_now()
        shutil.rmtree(self.dir, ignore_errors=True)


def postmaster(data):
    """The process of a running server, or None."""
    try:
        pid = int((Path(data) / "postmaster.pid").read_text().split("\n", 1)[0])
        return pid if "postgres" in os.readlink(f"/proc/{pid}/exe") else None
    except (OSError, ValueError):
        return None


class Engine:
    """A private dockerd with the image ng-side:1 (a program that waits)."""

    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="ng-eng-"))
        self.tool = support.ROOT / "ci" / "engine"
        self.call("start", "--while", os.getpid())
        self.socket = self.dir / "docker.sock"
        self.address = f"unix://{self.socket}"
        box = self.dir / "box"
        subprocess.run(["cc", "-static", "-O1", "-o", box, support.ROOT / "tests/support/box.c"], check=True)
        tar = subprocess.run(["tar", "-C", self.dir, "--mtime=@0", "-c", "box"], check=True, stdout=subprocess.PIPE).stdout
        self.docker("import", "--change", 'ENTRYPOINT ["/box"]', "--change", 'CMD ["wait"]', "-", "ng-side:1", input=tar)
        box.unlink()

    @staticmethod
    def missing():
        """Why there can't be one here, or None."""
        if os.geteuid() != 0:
            return "a private container engine needs root"
        for program in ("dockerd", "docker", "docker-registry", "cc", "perl"):
            if shutil.which(program) is None:
                return f"there is no {program} here"
        return None

    def call(self, verb, *options):
        ran = support.run([self.tool, verb, self.dir, *options])
        if ran.code != 0:
            raise AssertionError(str(ran))

    def docker(self, *arguments, **options):
        return subprocess.run(["docker", "-H", self.address, *map(str, arguments)], check=True, stdout=subprocess.PIPE, **options).stdout

    def env(self):
        """What ci/engine says of it: ENGINE, REGISTRY, REGISTRY_AUTH, REGISTRY_USER, REGISTRY_PASSWORD."""
        return dict(line.split("=", 1) for line in (self.dir / "env").read_text().splitlines())

    def pid(self):
        try:
            pid = int((self.dir / "dockerd.pid").read_text())
            return pid if os.readlink(f"/proc/{pid}/exe").endswith("dockerd") else None
        except (OSError, ValueError):
            return None

    def again(self):
        self.call("again")

    def containers(self):
        """Names of all containers, running or not."""
        return self.docker("ps", "-a", "--format", "{{.Names}}").decode().split()

    def close(self):
        self.call("stop")
