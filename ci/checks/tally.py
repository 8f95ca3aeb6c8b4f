"""The results of one run of ci/test: a file with a line `pass|fail|skip<TAB>stage<TAB>name<TAB>detail` for each test."""
import os
import re
import signal
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


class Results:
    def __init__(self, path, quiet=False):
        self.path, self.quiet = Path(path), quiet

    def add(self, status, stage, name, detail=""):
        """Books one test at once, so that a crash later loses nothing; failures and skips are also printed."""
        one_line = " ".join(str(detail).split())
        with self.path.open("a", encoding="utf-8") as log:
            log.write(f"{status}\t{stage}\t{name}\t{one_line}\n")
        if status == "fail" and not self.quiet:
            print(f"FAILED {stage}: {name}\n    {str(detail).strip()}" if detail else f"FAILED {stage}: {name}", flush=True)

    def rows(self):
        if not self.path.exists():
            return []
        return [line.split("\t") for line in self.path.read_text(encoding="utf-8").splitlines()]


def skip_log(path):
    """test -> reason, from the file that NIGHTGATE_SKIP_LOG names."""
    if not Path(path).exists():
        return {}
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def expressions(case):
    """What failed in a Catch2 test case, as text."""
    for node in case.iter():
        where = f"{node.get('filename')}:{node.get('line')}"
        if node.tag == "Expression" and node.get("success") == "false":
            original, expanded = (node.findtext(tag, "").strip() for tag in ("Original", "Expanded"))
            yield f"{where}: {original}   with   {expanded}"
        elif node.tag in ("Exception", "FatalErrorCondition", "Failure"):
            yield f"{where}: {node.tag}: {(node.text or '').strip()}"


def book_catch(results, stage, xml_path, code, skip_path):
    """Books a run of a Catch2 program from its XML report (one TestCase each, in version 2 and 3 alike), its exit code and
    its skip log. A program that crashed, or left no whole report, is one failure more, never a test fewer."""
    text = Path(xml_path).read_text(encoding="utf-8", errors="replace") if Path(xml_path).exists() else ""
    skips, failed, whole = skip_log(skip_path), 0, True
    try:
        cases = list(ET.fromstring(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", text)).iter("TestCase"))
    except ET.ParseError:
        whole = False
        cases = [ET.fromstring(part) for part in re.findall(r"<TestCase .*?</TestCase>", text, re.DOTALL)]
    for case in cases:
        name, outcome = case.get("name"), case.find("OverallResult")
        if outcome is None or outcome.get("success") != "true":
            failed += 1
            results.add("fail", stage, name, "\n    ".join(expressions(case)) or "no reason in the report")
        elif name in skips:
            results.add("skip", stage, name, skips[name])
        else:
            results.add("pass", stage, name)
    if not whole or (code != 0 and failed == 0):
        started = re.findall(r'<TestCase name="([^"]*)"', text)
        what = {124: "took too long", 137: "was killed"}.get(code, f"ended with exit code {code}")
        results.add("fail", stage, f"{stage}_tests", f"the program {what}; the last test begun: {(started or ['none'])[-1]}")
    elif not cases:
        results.add("fail", stage, f"{stage}_tests", "no test ran")


def left_over(results, marker):
    """Processes that this run started and that are still there: each a failure, and ended."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        pid = int(folder.name)
        if marker.encode() in environment and pid not in ancestors():
            results.add("fail", "left-over", f"process {pid}", f"still runs after the tests: {command[:200]}")
            try:
                os.kill(pid, signal.SIGTERM)
            except OSError:
                pass


def ancestors():
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        pid = int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return found


def summary(results, stages):
    """Prints skips, failures and the closing line; the exit code."""
    rows = results.rows()
    count = {status: sum(row[0] == status for row in rows) for status in ("pass", "fail", "skip")}
    for status, word in (("skip", "skipped"), ("fail", "failed")):
        for row in rows:
            if row[0] == status:
                print(f"{word} {row[1]}: {row[2]}: {row[3]}")
    for line in stages:
        print(line)
    skipped = f", {count['skip']} skipped" if count["skip"] else ""
    print(f"{count['pass']} passed, {count['fail']} failed{skipped}", flush=True)
    return 1 if count["fail"] or not count["pass"] else 0


def main(path, verb, *arguments):
    results = Results(path)
    if verb == "add":
        results.add(*arguments)
    elif verb == "catch":
        stage, xml_path, code, skip_path = arguments
        book_catch(results, stage, xml_path, int(code), skip_path)
    elif verb == "left-over":
        left_over(results, *arguments)
    elif verb == "summary":
        sys.exit(summary(results, arguments))
    else:
        sys.exit(f"tally: no verb {verb}")


if __name__ == "__main__":
    main(*sys.argv[1:])
