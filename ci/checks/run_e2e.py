"""Runs tests/e2e/test_*.py and books each test: run_e2e.py RESULTS [PATTERN]."""
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tally import Results  # noqa: E402

HERE = Path(__file__).resolve().parent.parent.parent / "tests" / "e2e"


class Booking(unittest.TestResult):
    """Books a test when it has ended, with its subtests' failures as one."""

    def __init__(self, results):
        super().__init__()
        self.results, self.faults, self.reason, self.since = results, [], None, 0.0

    def startTest(self, test):
        super().startTest(test)
        self.faults, self.reason, self.since = [], None, time.monotonic()

    def addError(self, test, err):
        super().addError(test, err)
        self.fault(test, self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.fault(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.fault(test, f"{subtest}: {(self.failures + self.errors)[-1][1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.reason = reason
        if not isinstance(test, unittest.TestCase) or not hasattr(test, "_testMethodName"):
            self.results.add("skip", "e2e", test.id(), reason)  # a whole class

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.fault(test, "passed, but was expected to fail")

    def fault(self, test, text):
        if hasattr(test, "_testMethodName"):
            self.faults.append(text)
        else:  # setUpClass, tearDownClass
            self.results.add("fail", "e2e", test.id(), text)

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.since
        if self.faults:
            self.results.add("fail", "e2e", test.id(), "\n".join(self.faults))
        elif self.reason is not None:
            self.results.add("skip", "e2e", test.id(), self.reason)
        else:
            self.results.add("pass", "e2e", test.id())
        print(f"{seconds:7.1f} s  {test.id()}", flush=True)


def main(path, pattern="test_*.py"):
    suite = unittest.defaultTestLoader.discover(str(HERE), pattern, str(HERE))
    if suite.countTestCases() == 0:
        Results(path).add("fail", "e2e", pattern, "no test ran")
    suite.run(Booking(Results(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
