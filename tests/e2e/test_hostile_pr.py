"""A pull request may not decide what the runner runs: configuration, scripts, commands, fixtures and hooks come from the base."""
import json
import os
import shutil
import unittest

import support
from project import ProjectCase

HOSTILE = "#!/bin/sh\ntouch {marker}\necho '{{\"ops\": 1000}}'\n"


class HostilePullRequest(ProjectCase):
    def setUp(self):
        super().setUp()
        self.marker = self.dir / "hostile-code-ran"
        project = self.project([None, None])
        repository = project.repository
        # The repository's own files: config, a load program and a fixture beside it. Targets are made by the workflow.
        config = {**project.config, "repository": {"path": ".", "branch": "main"}, "targets": {"artifact": "builds/{sha}"},
                  "state": "../state", "deployments": {"default": {"broker": {"command": ["sleep"], "args": ["600"]}}}}
        config["scenarios"] = {"work": {"load": {"command": ["./load/run"]}, "metrics": {"ops": {"unit": "1/s"}}, "repeats": 2,
                                        "warmup_seconds": 0, "fixture": {"command": ["./load/fill"]}}}
        self.config = config
        (repository / "load").mkdir()
        (repository / ".gitignore").write_text("/builds/\n")
        self.write("load/run", "#!/bin/sh\necho '{\"ops\": 1000.'$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')'}'\n")
        self.write("load/fill", f"#!/bin/sh\necho filled >> {self.dir}/filled\n")
        self.write("nightgate.json", json.dumps(config))
        project.git("add", ".")
        project.git("commit", "--quiet", "-m", "Measure it")
        self.base = project.git("rev-parse", "HEAD")
        project.git("update-ref", "refs/remotes/origin/main", self.base)
        # The pull request: everything that it could have run.
        project.git("checkout", "--quiet", "-b", "topic")
        for name in ("load/run", "load/fill", "load/hook"):
            self.write(name, HOSTILE.format(marker=self.marker))
        hostile = json.loads(json.dumps(config))
        hostile["scenarios"]["work"]["load"]["command"] = ["/bin/sh", "-c", f"touch {self.marker}; echo '{{\"ops\": 1000}}'"]
        hostile["report"] = {"hook": ["./load/hook"]}
        hostile["state"] = "elsewhere"
        self.write("nightgate.json", json.dumps(hostile))
        project.git("add", ".")
        project.git("commit", "--quiet", "-m", "Faster, honestly (#7)")
        self.head = project.git("rev-parse", "HEAD")
        for sha in (self.base, self.head):
            (repository / "builds" / sha).mkdir(parents=True)
            (repository / "builds" / sha / "number").write_text(sha)
        self.repository = repository

    def write(self, name, text):
        path = self.made.repository / name
        path.write_text(text)
        path.chmod(0o755)

    def compare(self, *options, code=None):
        return self.program("compare", *options, "--pairs", "2", "--max-minutes", "3", "--", self.base, self.head, cwd=self.repository, code=code,
                            env={"TMPDIR": str(self.dir)})

    def test_the_base_s_config_and_files(self):
        ran = self.compare("--config-from", "origin/main")
        self.assertIn(ran.code, (0, 1, 4), str(ran))
        self.assertFalse(self.marker.exists(), str(ran))
        self.assertIn(self.base[:10], ran.err)
        self.assertTrue((self.dir / "filled").exists())
        self.assertTrue((self.dir / "state").is_dir())
        self.assertFalse((self.repository / "elsewhere").exists())
        self.assertEqual(list(self.dir.glob("nightgate-config*")), [])
        self.compare("--config-from", "no-such-branch", code=2)
        # The control: without the option the pull request's files are run, as in one's own work tree.
        self.compare()
        self.assertTrue(self.marker.exists())

    def test_a_base_without_a_config(self):
        self.made.git("update-ref", "refs/remotes/origin/old", self.made.commits[0])
        ran = self.compare("--config-from", "origin/old", code=2)
        self.assertIn("has no nightgate.json", ran.err)

    def test_the_action(self):
        self.need("bash")
        environment = {"NIGHTGATE_PROGRAM": str(support.PROGRAM), "NIGHTGATE_BASE": self.base, "NIGHTGATE_HEAD": self.head,
                       "GITHUB_BASE_REF": "main", "GITHUB_EVENT_NAME": "pull_request", "RUNNER_TEMP": str(self.dir),
                       "NIGHTGATE_COMMENT": "never", "NIGHTGATE_FAIL_ON": "never", "TMPDIR": str(self.dir)}
        # Few pairs, so that it is short: by the base's config, which is the only one that counts.
        quick = {**self.config, "compare": {"max_minutes": 1}}
        shutil.copy(self.repository / "nightgate.json", self.dir / "hostile.json")
        self.made.git("checkout", "--quiet", "main")
        self.write("nightgate.json", json.dumps(quick))
        self.made.git("commit", "--quiet", "-am", "Quick")
        self.made.git("update-ref", "refs/remotes/origin/main", self.made.git("rev-parse", "HEAD"))
        self.made.git("checkout", "--quiet", "topic")
        step = support.ROOT / "ci/github/step.sh"
        ran = support.run(["bash", step], cwd=self.repository, env=environment, timeout=200)
        self.assertNotIn(ran.code, (2, 5), str(ran))
        self.assertFalse(self.marker.exists(), str(ran))
        self.assertEqual(support.run(["bash", step], cwd=self.repository, env={**environment, "NIGHTGATE_CONFIG_FROM": "mine"}).code, 2)


if __name__ == "__main__":
    unittest.main()
