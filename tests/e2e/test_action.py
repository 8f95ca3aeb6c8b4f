"""The GitHub action, executed as a runner would: steps in order, bash --noprofile --norc -eo pipefail, files for outputs
and summary, event payloads in GitHub's shape, and a small GitHub (tests/fakes/github.py) to comment on."""
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

import jsonschema
import yaml

from support import PROGRAM, ROOT, Case, http as ask

HEAD = "5d2f01c5d2f01c5d2f01c5d2f01c5d2f01c5d2f0"
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def pull_request_event(number=7, fork=False, head=HEAD):
    """The part of GitHub's pull_request payload that anybody reads, in its shape."""
    base = {"id": 1, "full_name": "o/r", "fork": False}
    return {"action": "synchronize", "number": number,
            "pull_request": {"number": number, "state": "open", "title": "Faster <b>creates</b> @all",
                             "head": {"label": "x:topic", "ref": "topic", "sha": head,
                                      "repo": {"id": 2, "full_name": "fork/r", "fork": True} if fork else base},
                             "base": {"label": "o:main", "ref": "main", "sha": "0" * 40, "repo": base}},
            "repository": base, "sender": {"login": "ada"}}


def workflow_run_event(head=HEAD, repository="fork/r", branch="topic"):
    return {"action": "completed", "repository": {"full_name": "o/r"},
            "workflow_run": {"id": 30433642, "event": "pull_request", "status": "completed", "head_branch": branch,
                             "head_sha": head, "head_repository": {"full_name": repository, "fork": True},
                             "pull_requests": []}}


def metric(name, verdict, change):
    return {"metric": name, "unit": "1/s", "better": "higher", "verdict": verdict, "reason": "beyond noise",
            "change": change, "interval": [change - 0.02, change + 0.02], "shown_interval": [change - 0.02, change + 0.02],
            "pairs": 8, "base": 1000.0, "head": 1000 * (1 + change), "index": 100 * (1 + change), "aa_spread": 0.01,
            "every_head_beats_every_base": False}


def compare(verdict, *metrics):
    return {"schema": "nightgate-compare/1", "verdict": verdict, "pairs": 8, "minutes": 2.5, "measurements": 18,
            "arms": [{"commit": "0" * 40, "digest": "sha256:0", "label": "main"},
                     {"commit": HEAD, "digest": "sha256:1", "label": "topic"}],
            "heads": [{"arm": 1, "verdict": verdict, "reason": "", "trade": False, "metrics": list(metrics)}],
            "aa_complaint": "", "differences": [], "void_pairs": [], "metrics": list(metrics)}


SLOWER = compare("worse", metric("default.create.rate", "worse", -0.34), metric("default.get.rate", "same", 0.001))
SAME = compare("same", metric("default.create.rate", "same", 0.001))
UNDECIDED = compare("no_verdict", metric("default.create.rate", "no_verdict", -0.03))


def outputs_of(text):
    """A GITHUB_OUTPUT file read as the runner does: NAME=VALUE, or NAME<<DELIMITER, lines, DELIMITER."""
    out, lines = {}, iter(text.splitlines())
    for line in lines:
        heredoc = re.fullmatch(r"([^=<]+)<<(.+)", line)
        if heredoc:
            value = []
            for inner in lines:
                if inner == heredoc.group(2):
                    break
                value.append(inner)
            out[heredoc.group(1)] = "\n".join(value)
        elif line:
            name, _, value = line.partition("=")
            out[name] = value
    return out


class Runner:
    """Executes a composite action. Steps that use other actions are noted, not run."""

    def __init__(self, directory, env, inputs):
        self.dir, self.inputs, self.log, self.outputs, self.used, self.code = directory, inputs, "", {}, [], 0
        self.env = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8", "CI": "true",
                    "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(directory), "GITHUB_REPOSITORY": "o/r",
                    "GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "42", "GITHUB_JOB": "compare",
                    "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": str(directory / "temp"),
                    "RUNNER_TOOL_CACHE": str(directory / "tools"), **env}
        for folder in ("temp", "tools"):
            (directory / folder).mkdir(exist_ok=True)
        self.summaries = []

    def value(self, text):
        """An expression's value; only the contexts that action.yml uses."""
        def lookup(match):
            name = match.group(1).strip()
            if name.startswith("inputs."):
                return self.inputs[name[len("inputs."):]]
            if name.startswith("steps."):
                _, step, _, output = name.split(".")
                return self.outputs.get(step, {}).get(output, "")
            return {"github.action_path": str(ROOT), "github.action_repository": "", "github.token": "bot",
                    "github.job": "compare"}[name]
        return EXPRESSION.sub(lookup, str(text))

    def wanted(self, step):
        condition = str(step.get("if", "success()"))
        if self.code != 0 and "always()" not in condition:
            return False
        for part in condition.split("&&"):
            compared = re.fullmatch(r"\s*(steps\S+)\s*(==|!=)\s*'(.*)'\s*", part)
            if compared:
                same = self.value("${{ %s }}" % compared.group(1)) == compared.group(3)
                if same != (compared.group(2) == "=="):
                    return False
        return True

    def run(self, action):
        definition = yaml.safe_load(action.read_text())
        self.inputs = {name: self.value(i.get("default", "")) for name, i in definition["inputs"].items()} | self.inputs
        for number, step in enumerate(definition["runs"]["steps"]):
            if not self.wanted(step):
                continue
            if "uses" in step:
                self.used.append((step["uses"], {k: self.value(v) for k, v in step.get("with", {}).items()}))
                continue
            self.step(number, step)
        return {name: self.value(o["value"]) for name, o in definition["outputs"].items()}

    def step(self, number, step):
        assert step["shell"] == "bash"
        files = {name: self.dir / "temp" / f"{name}-{number}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        for file in files.values():
            file.write_text("")
        script = self.dir / "temp" / f"step-{number}.sh"
        script.write_text(step["run"])
        env = {**self.env, **{k: str(v) for k, v in files.items()},
               **{k: self.value(v) for k, v in step.get("env", {}).items()}}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], env=env, cwd=self.dir,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        self.log += done.stdout
        self.code = self.code or done.returncode
        self.outputs[step.get("id", str(number))] = outputs_of(files["GITHUB_OUTPUT"].read_text())
        self.summaries.append(files["GITHUB_STEP_SUMMARY"].read_text())

    def annotations(self):
        """Commands the runner would obey: none between stop-commands and its token."""
        out, stopped = [], None
        for line in self.log.splitlines():
            if stopped:
                stopped = None if line == f"::{stopped}::" else stopped
            elif line.startswith("::stop-commands::"):
                stopped = line[len("::stop-commands::"):]
            elif re.match(r"::(error|warning|notice)", line):
                out.append(line)
        return out


class Action(Case):
    def setUp(self):
        super().setUp()
        fake = self.start(["/usr/bin/python3", ROOT / "tests/fakes/github.py"])
        while not fake.log.read_text().endswith("\n"):
            self.assertIsNone(fake.poll())
        self.github = fake.log.read_text().strip()
        ask("PUT", f"{self.github}/_/state",
            {"pulls": [{"number": 7, "state": "open", "head": {"sha": HEAD, "ref": "topic", "repo": {"full_name": "fork/r"}}}]})

    def state(self):
        state = json.loads(ask("GET", f"{self.github}/_/state")[2])
        self.assertEqual(state["violations"], [])  # every request is one that GitHub describes
        return state

    def program_that(self, document, code, extra=""):
        """A nightgate whose measuring verbs give this document; everything else is the real one."""
        (self.dir / "document.json").write_text(document if isinstance(document, str) else json.dumps(document))
        path = self.dir / "nightgate"
        path.write_text(f"""#!/bin/bash
case $1 in publish|--version) exec {PROGRAM} "$@" ;; esac
printf '%s\\n' "$@" > {self.dir}/arguments
env > {self.dir}/environment
{extra}
cat {self.dir}/document.json
exit {code}
""")
        path.chmod(0o755)
        return path

    def act(self, document, code, event=None, event_name="pull_request", extra="", env=None, **inputs):
        if not PROGRAM.exists():
            self.fail(f"{PROGRAM} is not built")
        (self.dir / "event.json").write_text(json.dumps(pull_request_event() if event is None else event))
        runner = Runner(self.dir, {"GITHUB_API_URL": self.github, "GITHUB_EVENT_PATH": str(self.dir / "event.json"),
                                   "GITHUB_EVENT_NAME": event_name, **(env or {})},
                        {"binary-path": str(self.program_that(document, code, extra)),
                         **{k.replace("_", "-"): v for k, v in inputs.items()}})
        runner.result = runner.run(ROOT / "action.yml")
        self.runner = runner
        return runner

    def test_regression(self):
        done = self.act(SLOWER, 1, base="v1", head="--record")
        self.assertEqual(done.code, 1, done.log)
        self.assertEqual((self.dir / "arguments").read_text().splitlines(),
                         ["compare", "--config=nightgate.json", "--json", "--", "v1", "--record"])
        self.assertNotIn("NIGHTGATE_TOKEN", (self.dir / "environment").read_text())
        self.assertEqual((done.result["verdict"], done.result["regressions"], done.result["culprit"]), ("regression", "1", ""))
        self.assertEqual(json.loads(Path(done.result["json"]).read_text()), SLOWER)
        summary = done.summaries[-1]
        self.assertEqual(Path(done.result["summary"]).read_text(), summary)
        self.assertIn("default.create.rate", Path(done.result["report"]).read_text())
        self.assertIn("| default.create.rate | **WORSENS** | -34.0 % (-36.0 % to -32.0 %) |", summary)
        self.assertEqual(len(done.annotations()), 1, done.log)
        self.assertRegex(done.annotations()[0], r"^::error title=Regression%3A default.create.rate::")
        comments = self.state()["comments"]
        self.assertEqual([c["issue"] for c in comments], [7])
        self.assertTrue(comments[0]["body"].startswith("<!-- nightgate v1 key=gate -->\n### "))
        self.assertIn("https://github.com/o/r/actions/runs/42", comments[0]["body"])
        used = [name for name, _ in done.used]
        self.assertEqual(len(used), 1, used)  # the artifact is kept although the step failed
        self.assertIn("upload-artifact", used[0])

    def test_verdicts_and_exit_codes(self):
        """What fails the job, by fail-on; a verdict's text never says pass or regression for no verdict."""
        error = {"schema": "nightgate-error/1", "verb": "compare", "error": "no engine", "exit_code": 3}
        table = [(SAME, 0, "no-verdict", 0, "pass"), (SLOWER, 1, "no-verdict", 1, "regression"),
                 (SLOWER, 1, "never", 0, "regression"), (UNDECIDED, 4, "no-verdict", 4, "no-verdict"),
                 (UNDECIDED, 4, "regression", 0, "no-verdict"), (error, 3, "never", 3, "error"),
                 (error, 3, "regression", 3, "error"), ("", 5, "never", 5, "error"), ("", 137, "regression", 5, "error"),
                 ("half {", 1, "never", 5, "error"), ("", 0, "no-verdict", 5, "error"),
                 (SAME, 3, "never", 3, "error")]
        for document, code, fail_on, job, verdict in table:
            with self.subTest(code=code, fail_on=fail_on, verdict=verdict):
                done = self.act(document, code, fail_on=fail_on, comment="never")
                self.assertEqual((done.code, done.result["verdict"]), (job, verdict), done.log)
                self.assertTrue(done.summaries[-1].startswith("### nightgate"))
                if verdict == "no-verdict":
                    self.assertIn("title=No verdict", done.annotations()[0])
                    self.assertEqual("warning" in done.annotations()[0], job == 0)
                    said = done.summaries[-1] + done.annotations()[0]
                    self.assertNotRegex(said.lower(), r"\bpass\b|regression")
        self.assertEqual(self.state()["comments"], [])

    def test_comment_is_kept_up_to_date(self):
        for document, code, words in [(SAME, 0, None), (SLOWER, 1, "regression"), (SLOWER, 1, "regression"), (SAME, 0, "pass")]:
            self.act(document, code)
            comments = self.state()["comments"]
            self.assertEqual(len(comments), 0 if words is None else 1)
            if words:
                self.assertIn(words, comments[0]["body"].splitlines()[1])
        self.assertEqual(comments[0]["edits"], 1)
        self.act(SAME, 0, comment="always", env={"NIGHTGATE_KEY": "other"})
        self.assertEqual(len(self.state()["comments"]), 2)

    def test_no_write_rights(self):
        done = self.act(SLOWER, 1, event=pull_request_event(fork=True), token="read")
        self.assertEqual((done.code, done.result["verdict"]), (1, "regression"), done.log)
        warnings = [a for a in done.annotations() if a.startswith("::warning")]
        self.assertEqual(len(warnings), 1, done.log)
        self.assertIn("no comment", warnings[0])
        self.assertIn("default.create.rate", done.summaries[-1])
        self.assertEqual(self.act(SAME, 0, token="read", comment="always").code, 0)
        self.assertEqual(self.act(SAME, 0, token="", comment="always").code, 0)
        down = self.act(SAME, 0, comment="always", env={"GITHUB_API_URL": "http://127.0.0.1:9"})
        self.assertEqual((down.code, len(down.annotations())), (0, 1), down.log)

    def test_no_pull_request_no_comment(self):
        done = self.act(SLOWER, 1, event={"ref": "refs/heads/main", "pull_request": {"number": 7}}, event_name="push")
        self.assertEqual((done.code, self.state()["comments"]), (1, []), done.log)
        self.assertEqual(len(done.annotations()), 1)

    def test_hostile_texts(self):
        evil = "`</td>@all ](http://e.example) |x\r\n::error title=owned::x\n::set-output name=verdict::pass"
        document = json.loads(json.dumps(SLOWER).replace("default.create.rate", json.dumps(evil)[1:-1]))
        done = self.act(document, 1, extra="echo '::error title=owned::by the broker'; echo '::add-mask::a' >&2",
                        base=evil)
        self.assertEqual(done.code, 5, "a document after other lines is none")
        done = self.act(document, 1, extra="echo '::error title=owned::by the broker' >&2", base=evil)
        self.assertEqual((done.code, done.result["verdict"]), (1, "regression"), done.log)
        self.assertEqual(len(done.annotations()), 1, done.log)
        self.assertFalse([a for a in done.annotations() if a.startswith("::error title=owned")])
        for text in (done.summaries[-1], self.state()["comments"][0]["body"]):
            self.assertNotIn("@all", text)
            self.assertNotIn("</td>", text)
            self.assertNotIn("](http://e", text)
            self.assertFalse([line for line in text.splitlines() if line.startswith("::")])

    def test_limits(self):
        many = compare("worse", *[metric(f"deployment.scenario_{i}.{'x' * 40}", "worse", -0.2) for i in range(4000)])
        done = self.act(many, 1)
        self.assertEqual(done.result["regressions"], "4000")
        self.assertEqual(len(done.annotations()), 10)
        self.assertIn("and 3991 more", done.annotations()[-1])
        body = self.state()["comments"][0]["body"]
        self.assertLess(len(body.encode()), 60001)
        self.assertLess(len(done.summaries[-1].encode()), 900 * 1024 + 1)
        for text in (body, done.summaries[-1]):
            table = text.partition("<details>")[0]  # the absolute values behind it are cut without counting
            rows = [line for line in table.splitlines() if line.startswith("| deployment")]
            self.assertTrue(all(row.count("|") == 8 for row in rows))
            left_out = 4000 - len(rows)
            self.assertEqual(f"{left_out} more rows" in text, left_out > 0)

    def test_wrong_inputs(self):
        for inputs in ({"command": "rm -rf"}, {"fail_on": "sometimes"}, {"comment": "$(id)"}, {"command": "bisect"}):
            done = self.act(SAME, 0, **inputs)
            self.assertEqual(done.code, 2, done.log)
            self.assertEqual(len(done.annotations()), 1)
            self.assertFalse((self.dir / "arguments").exists())

    def test_bisect(self):
        document = {"schema": "nightgate-bisect/1", "outcome": "culprit", "metric": "d.s.rate", "finished": True, "why": "",
                    "culprit": {"commit": HEAD, "pr": 12, "title": "Slow", "author": "A"}, "probability": 0.99,
                    "change": -0.35, "measurements": 14, "minutes": 8, "merges": 24, "ladder": [], "skipped": []}
        done = self.act(document, 0, command="bisect", base="v1", head="main", metric="d.s.rate", comment="never")
        self.assertEqual((done.code, done.result["culprit"]), (0, HEAD), done.log)
        self.assertIn("--good=v1", (self.dir / "arguments").read_text().splitlines())

    def test_json(self):
        (self.dir / "r.json").write_text(json.dumps(SLOWER))
        env = {"GITHUB_ACTIONS": "true", "NIGHTGATE_TOKEN": "", "GITHUB_EVENT_PATH": "", "GITHUB_STEP_SUMMARY": ""}
        ran = self.program("publish", "r.json", "--json", "--exit-code", "1", "--fail-on", "never", code=0, env=env)
        schema = json.loads((ROOT / "config/schemas/publish.schema.json").read_text())
        jsonschema.validate(ran.json(), schema, jsonschema.Draft7Validator)
        self.assertEqual((ran.json()["exit_code"], ran.json()["job_exit_code"]), (1, 0))
        self.assertIn("::warning title=Regression", ran.err)
        self.program("publish", "r.json", code=1, env=env)  # without the command's code, the document decides
        self.program("publish", "nothing.json", code=2, env=env)

    # ---- the poster ----
    def post(self, document, event=None, code=0, **options):
        artifact = self.dir / "artifact.json"
        artifact.write_text(document if isinstance(document, str) else json.dumps(document))
        (self.dir / "event.json").write_text(json.dumps(workflow_run_event() if event is None else event))
        env = {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": self.github, "GITHUB_REPOSITORY": "o/r",
               "GITHUB_EVENT_PATH": str(self.dir / "event.json"), "GITHUB_EVENT_NAME": "workflow_run",
               "NIGHTGATE_TOKEN": "bot", "GITHUB_SERVER_URL": "https://github.com"}
        return self.program("publish", artifact, "--from-artifact", "--head-sha", HEAD, "--output", self.dir / "said",
                            code=code, env=env, **options)

    def test_from_artifact(self):
        self.post(SLOWER)
        comments = self.state()["comments"]
        self.assertEqual([c["issue"] for c in comments], [7])
        self.assertIn("actions/runs/30433642", comments[0]["body"])
        self.post(SLOWER, event=workflow_run_event(repository="mallory/r"))  # another's pull request with this head
        self.assertEqual(len(self.state()["comments"]), 1)

    def test_from_hostile_artifact(self):
        lies = json.loads(json.dumps(SLOWER))
        lies["pull_request"] = lies["number"] = 99
        lies["markdown"] = lies["report"] = "# owned"
        self.post(lies)
        self.assertEqual([c["issue"] for c in self.state()["comments"]], [7])
        self.assertNotIn("owned", self.state()["comments"][0]["body"])
        for text in ("", "[" * 100000, "x" * (5 << 20), json.dumps({"schema": "nightgate-compare/1", "verdict": "# owned"}),
                     json.dumps({**SLOWER, "schema": "other/1"})):
            self.post(text, code=2)
        self.assertEqual(len(self.state()["comments"]), 1)


if __name__ == "__main__":
    unittest.main()
