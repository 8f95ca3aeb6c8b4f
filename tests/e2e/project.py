"""A fast project: a git history whose targets are small programs that print figures, so that a whole night takes seconds.

The figures are made, with noise; the tests that use this are about nights, states and crashes, not about measuring."""
import json
import subprocess
from pathlib import Path

import support

BENCH = """#!/bin/sh
# Prints two figures around this version's levels, 1 % noise, times the machine's speed.
seed=$(od -An -N2 -tu2 /dev/urandom)
awk -v seed="$seed" -v ops={ops} -v lag={lag} -v speed="$(cat '{speed}' 2>/dev/null || echo 1)" 'BEGIN {{
  srand(seed); for (i = 0; i < 12; i++) {{ a += rand(); b += rand() }}
  printf "{{\\"ops\\": %.4f, \\"lag\\": %.6f}}\\n", ops * speed * (1 + 0.01 * (a - 6)), lag / speed * (1 + 0.01 * (b - 6))
}}'
"""


class Project:
    """A repository in `directory` with builds/SHA/bench for each merge. `levels`: (ops, lag) per merge; None: no target;
    a string: the program's text."""

    def __init__(self, directory, levels, **config):
        self.dir = Path(directory)
        self.repository = self.dir / "repo"
        self.repository.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.speed = self.dir / "speed"
        self.speed.write_text("1")
        self.commits = []
        for level in levels:
            self.merge(level)
        self.config = {
            "project": "fast", "state": "state", "repository": {"path": "repo", "branch": "main"},
            "targets": {"artifact": "builds/{sha}"},
            "machine": {"name": "bench-1", "cpus": "shared", "max_foreign_cpu": 64, "max_steal": 1, "wait_minutes": 2},
            "scenarios": {"work": {"load": {"command": ["{target}/bench"]}, "repeats": 3, "warmup_seconds": 0,
                                   "metrics": {"ops": {"unit": "1/s"}, "lag": {"unit": "ms", "better": "lower"}}}},
            "night": {"starts": 2, "min_gap_hours": 0}, "store": "embedded"}
        for key, value in config.items():
            self.config[key] = {**self.config.get(key, {}), **value} if isinstance(value, dict) else value
        self.write_config()

    def git(self, *arguments, when=None):
        date = f"{1772442000 + 86400 * (when or 0)} +0000"
        environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "Ada Lindqvist",
                       "GIT_AUTHOR_EMAIL": "ada@example.invalid", "GIT_COMMITTER_NAME": "Ada Lindqvist",
                       "GIT_COMMITTER_EMAIL": "ada@example.invalid", "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
                       "PATH": "/usr/bin:/bin"}
        return subprocess.run(["git", "-C", self.repository, *arguments], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def merge(self, level, message=None):
        """Commits the next merge and makes its target; its sha."""
        number = len(self.commits) + 1
        (self.repository / "version").write_text(f"{number}\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", message or f"Change number {number} (#{100 + number})", when=number)
        sha = self.git("rev-parse", "HEAD")
        self.commits.append(sha)
        if level is not None:
            target = self.dir / "builds" / sha / "bench"
            target.parent.mkdir(parents=True)
            target.write_text(level if isinstance(level, str) else BENCH.format(ops=level[0], lag=level[1], speed=self.speed))
            target.chmod(0o755)
            (target.parent / "number").write_text(f"{number}\n")  # every merge is a version of its own
        return sha

    def write_config(self):
        (self.dir / "nightgate.json").write_text(json.dumps(self.config, indent=2))

    def main_at(self, number):
        """The main branch stands at this merge (counted from 1)."""
        self.git("update-ref", "refs/heads/main", self.commits[number - 1])


class ProjectCase(support.Case):
    """A test case with a fast project in self.dir; nights by self.night()."""

    def project(self, levels, **config):
        self.need("git", "awk")
        self.made = Project(self.dir, levels, **config)
        return self.made

    def night(self, at=None, code=0, **options):
        if at is not None:
            self.made.main_at(at)
        return self.program("nightly", "--json", "--quiet", code=code, **options).json()

    def warm_up(self, nights=7):
        """One night for each of the first merges."""
        for number in range(1, nights + 1):
            document = self.night(number)
        return document

    @staticmethod
    def verdicts(document):
        return {m["metric"]: m["verdict"] for m in document["metrics"]}
