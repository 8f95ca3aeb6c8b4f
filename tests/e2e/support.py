"""What the end-to-end tests share: running the built program and the test broker, free ports, kept directories.

The program is $NIGHTGATE, or build/dev/nightgate. A failed test's directory is kept, and its path printed."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("NIGHTGATE") or ROOT / "build" / "dev" / "nightgate")
BROKER = ROOT / "tests" / "broker"


@dataclass
class Ran:
    """A finished command."""
    arguments: list
    code: int
    out: str
    err: str

    def json(self):
        """The one JSON document on stdout; an assertion when there is anything else."""
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"stdout is not one JSON document ({error})\n{self}") from error

    def __str__(self):
        return f"{' '.join(map(str, self.arguments))}\nexit code {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"


def run(arguments, cwd=None, env=None, timeout=120, stdin=""):
    """Runs a command in its own process group and waits for it. After `timeout` seconds the group is killed, and the test
    fails with what was printed until then."""
    process = subprocess.Popen([str(a) for a in arguments], cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"no end after {timeout} s:\n{Ran(arguments, -9, out, err)}") from None
    return Ran(list(arguments), process.returncode, out, err)


def free_port():
    """A TCP port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def http(method, url, body=None, headers=None, timeout=10):
    """(status, headers, text) of a request; `body` that is no string goes as JSON."""
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def make_history(directory, *options):
    """A history of the test broker in `directory` (see tests/broker/make-history); what history.json says."""
    ran = run([BROKER / "make-history", directory, *options], timeout=600)
    if ran.code != 0:
        raise AssertionError(str(ran))
    return json.loads((Path(directory) / "history.json").read_text())


class Case(unittest.TestCase):
    """A test case with a directory of its own, self.dir."""

    maxDiff = None

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="nightgate-e2e-"))
        self.addCleanup(self._clean_up)

    def run(self, result=None):
        self._result = result
        self._faults_before = len(result.failures) + len(result.errors) if result else 0
        return super().run(result)

    def _clean_up(self):
        # unittest books a test's failure before or after the cleanups, depending on its version; both are looked at.
        outcome = getattr(self, "_outcome", None)
        booked = self._result and len(self._result.failures) + len(self._result.errors) > self._faults_before
        if booked or not getattr(outcome, "success", True):
            print(f"kept: {self.dir} ({self.id()})", flush=True)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def need(self, *commands):
        """Skips the test when one of the commands is not installed."""
        for command in commands:
            if shutil.which(command) is None:
                self.skipTest(f"no {command} here; ci/setup installs it")

    def program(self, *arguments, code=0, **options):
        """Runs nightgate in self.dir; `code` is the exit code it must end with (None: any)."""
        if not PROGRAM.exists():
            self.fail(f"{PROGRAM} is not built")
        options.setdefault("cwd", self.dir)
        ran = run([PROGRAM, *arguments], **options)
        if code is not None:
            self.assertEqual(ran.code, code, str(ran))
        return ran

    def start(self, arguments, ready_url=None, seconds=10, **options):
        """Starts a process that is stopped after the test; waits until `ready_url` answers."""
        log = open(self.dir / f"process-{time.monotonic_ns()}.log", "w+")  # noqa: SIM115
        process = subprocess.Popen([str(a) for a in arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, **options)
        process.log = Path(log.name)
        log.close()
        self.addCleanup(stop, process)
        end = time.monotonic() + seconds
        while ready_url:
            try:
                http("GET", ready_url, timeout=1)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    self.fail(f"{arguments[0]} does not answer at {ready_url}:\n{process.log.read_text()}")
                time.sleep(0.02)
        return process

    def start_broker(self, binary, *arguments, port=None):
        """A test broker on a free port: its base URL and the process."""
        port = port or free_port()
        url = f"http://127.0.0.1:{port}"
        return url, self.start([binary, "--port", port, *arguments], ready_url=f"{url}/count")


def stop(process, seconds=10):
    """SIGTERM, and SIGKILL when that is not enough; the exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()
