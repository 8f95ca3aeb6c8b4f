"""The .deb, installed on a machine of its own: what is in it, install, check, upgrade, remove, purge; completions and manual page.

The machine stands over the root of the one that tests, and the package is of build/dev. `ci/soak package` names others:
NIGHTGATE_TEST_ROOT, a fresh Debian 12, and NIGHTGATE_TEST_BUILD, the release build."""
import json
import os
import re
import shutil
import time
import unittest
from pathlib import Path

import machine
import support
from project import Project

BUILD = Path(os.environ.get("NIGHTGATE_TEST_BUILD") or support.ROOT / "build" / "dev")


def make_package(directory, version):
    """The .deb of build/dev with that version."""
    for command in ("cpack", "dpkg-shlibdeps", "file"):
        if shutil.which(command) is None:
            raise unittest.SkipTest(f"no {command} here; ci/setup installs it")
    built = support.run(["cmake", "--build", BUILD, "--target", "nightgate", "package_texts"], timeout=900)
    made = support.run(["cpack", "-B", directory, "-D", f"CPACK_PACKAGE_VERSION={version}"], cwd=BUILD, timeout=300)
    packages = list(Path(directory).glob(f"nightgate_{version}_*.deb"))
    if built.code != 0 or made.code != 0 or len(packages) != 1:
        raise AssertionError(f"no package was made:\n{built}\n{made}")
    return packages[0]


class Completions(support.Case):
    """Made from the verbs that there are: here they are compared with what --help says."""

    def setUp(self):
        super().setUp()
        text = self.program("--help").out
        self.verbs = re.findall(r"^  ([a-z]+)  ", text[text.index("Subcommands:"):], re.MULTILINE)
        self.assertGreater(len(self.verbs), 15)

    def complete(self, *words):
        (self.dir / "completion").write_text(self.program("completion", "bash").out)
        ran = support.run(["bash", "-euc", 'source ./completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nightgate; '
                           'printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words], cwd=self.dir)
        self.assertEqual(ran.code, 0, str(ran))
        return ran.out.split()

    def test_bash(self):
        self.assertEqual(self.complete("nightgate", ""), self.verbs)
        self.assertEqual(self.complete("nightgate", "bis"), ["bisect"])
        self.assertEqual(self.complete("nightgate", "--v"), ["--version"])
        self.assertEqual(self.complete("nightgate", "simulate", "--drift", ""), ["walk", "jump", "trend"])
        self.assertEqual(self.complete("nightgate", "store", "mi"), ["migrate"])
        self.assertEqual(self.complete("nightgate", "nightly", "--config", "--f"), [], "the shell's own file names")
        for verb in self.verbs:
            options = set(re.findall(r"--[a-z][a-z-]*", self.program(verb, "--help").out.split("Example:")[0]))
            mentioned = set(self.complete("nightgate", verb, "--"))
            self.assertTrue(mentioned <= options and len(mentioned) >= 3, (verb, mentioned, options))

    def test_zsh_and_fish(self):
        for shell in ("zsh", "fish"):
            text = self.program("completion", shell).out
            for verb in self.verbs:
                self.assertRegex(text, rf"(?m)^ *'?{verb}:|-a {verb} ", shell)
            with self.subTest(shell):
                if shutil.which(shell) is None:
                    continue  # its text is checked where it is installed
                (self.dir / shell).write_text(text)
                ran = support.run([shell, "-n", self.dir / shell])
                self.assertEqual((ran.code, ran.out + ran.err), (0, ""), str(ran))

    def test_manual_page(self):
        self.need("man")
        page = self.dir / "nightgate.1"
        page.write_text(self.program("completion", "man").out)
        ran = support.run(["man", "--warnings", "-E", "UTF-8", "-l", page], env={"MANWIDTH": "100", "LC_ALL": "C.UTF-8",
                                                                               "MAN_KEEP_FORMATTING": ""})
        self.assertEqual((ran.code, ran.err), (0, ""), str(ran))
        for verb in self.verbs:
            self.assertIn(f"\n   {verb}\n", ran.out)
        for text in ("--max-measurements", "--failed-unit", "EXIT STATUS", "nightgate check"):
            self.assertIn(text, ran.out)
        self.program("completion", "tcsh", code=2)


# Long enough for an upgrade to come in the middle.
SLOW = "#!/bin/sh\nsleep 8\necho '{\"ops\": 1000, \"lag\": 2}'\n"


class Package(support.Case):
    """One life of a package: nights before an upgrade are there after it."""

    def setUp(self):
        machine.need_machine()
        super().setUp()

    def test_life(self):
        first = make_package(self.dir, "0.1.0")
        second = make_package(self.dir, "0.1.1")
        self.contents(first)
        root = self.dir / "files"
        (root / "srv").mkdir(parents=True)
        made = Project(root / "srv" / "fast", [(1000, 2.0), SLOW])
        made.main_at(1)
        self.newest = made.commits[1]
        shutil.copy(first, root / "srv" / "first.deb")
        shutil.copy(second, root / "srv" / "second.deb")
        self.host = machine.Machine(self.dir, os.environ.get("NIGHTGATE_TEST_ROOT", "/"))
        self.addCleanup(self.host.stop)
        self.install()
        self.upgrade()
        self.remove()

    def contents(self, package):
        listing = support.run(["dpkg-deb", "-c", package]).out
        for path in ("usr/bin/nightgate", "usr/share/man/man1/nightgate.1.gz", "usr/share/doc/nightgate/copyright",
                     "usr/share/doc/nightgate/examples/nightgate.json", "usr/lib/sysusers.d/nightgate.conf",
                     "usr/lib/systemd/system/nightgate-nightly@.timer", "usr/share/bash-completion/completions/nightgate"):
            self.assertIn(f" ./{path}\n", listing)
        for line in listing.splitlines():
            self.assertRegex(line, r"^[-d]\S+ root/root ", "all files are root's")
            self.assertNotRegex(line, r"^\S*w\S (?!root)|^-....w|^-.......w", "nobody else writes them")
        fields = support.run(["dpkg-deb", "-f", package, "Depends", "Recommends"]).out
        self.assertIn("libpq5", fields)
        self.assertIn("postgresql", fields)
        sums = support.run(["dpkg-deb", "-I", package, "md5sums"])
        self.assertIn("usr/bin/nightgate", sums.out)

    def night(self, *arguments, code=0):
        ran = self.host.run("runuser", "-u", "nightgate", "--", "nightgate", *arguments, "--config",
                            "/etc/nightgate/nightgate.json", code=code)
        return json.loads(ran.out) if "--json" in arguments else ran

    def install(self):
        run = self.host.run
        self.assertEqual(run("id", "nightgate", code=1).out, "", "it is made by the package")
        run("dpkg", "-i", "/srv/first.deb")
        self.assertEqual(run("stat", "-c", "%a %U %G", "/var/lib/nightgate", "/etc/nightgate/credentials").out.split("\n")[:2],
                         ["700 nightgate nightgate", "750 root nightgate"])
        self.assertEqual(run("systemctl", "is-enabled", "nightgate-nightly.timer", code=1).out.strip(), "disabled")
        self.assertEqual(run("dpkg", "--verify", "nightgate").out, "")
        # Without a config it says what to do, and so does the first night.
        said = self.night("check", code=2).out
        self.assertIn("nightgate init", said)
        config = json.loads((self.dir / "files/srv/fast/nightgate.json").read_text())
        del config["state"]
        config["night"]["starts"], config["scenarios"]["work"]["repeats"] = 1, 1
        config["repository"]["path"], config["targets"]["artifact"] = "/srv/fast/repo", "/srv/fast/builds/{sha}"
        self.host.run("sh", "-c", "cat > /etc/nightgate/nightgate.json", stdin=json.dumps(config))
        run("chown", "-R", "nightgate:", "/srv/fast")
        checked = self.night("check", "--json")
        self.assertTrue(checked["ready"])
        self.assertIn("cpusets", [c["what"] for c in checked["checks"]])
        self.assertEqual(self.night("nightly", "--json")["night"], 1)

    def state(self):
        return self.host.run("find", "/var/lib/nightgate", "-maxdepth", "2", "-printf", "%M %u %p\\n").out.splitlines()

    def upgrade(self):
        before = self.state()
        self.assertIn("drwx------ nightgate /var/lib/nightgate/fast/postgres", before)
        self.host.run("sh", "-c", "echo keep > /etc/nightgate/credentials/github-token")
        self.host.run("systemctl", "enable", "--now", "nightgate-nightly.timer")
        # A night is under way.
        self.host.run("runuser", "-u", "nightgate", "--", "git", "-C", "/srv/fast/repo", "update-ref", "refs/heads/main", self.newest)
        self.host.run("systemctl", "start", "--no-block", "nightgate-nightly")
        for _ in range(300):
            if self.host.run("pgrep", "-x", "sleep", "-u", "nightgate", code=None).out:
                break
            time.sleep(0.1)
        self.host.run("dpkg", "-i", "/srv/second.deb")
        self.host.run("pgrep", "-x", "sleep", "-u", "nightgate")  # the upgrade has let it alone
        self.assertEqual(self.host.run("systemctl", "show", "-P", "ActiveState", "nightgate-nightly").out.strip(), "activating")
        self.host.run("systemctl", "start", "nightgate-nightly")  # waits for the one that runs
        self.assertIn("Version: 0.1.1", self.host.run("dpkg", "-s", "nightgate").out)
        self.assertEqual(self.host.run("systemctl", "is-active", "nightgate-nightly.timer").out.strip(), "active")
        self.assertEqual(sorted(self.state()), sorted(before))
        self.assertIn("2 nights", self.night("check").out)

    def remove(self):
        run = self.host.run
        run("dpkg", "--remove", "nightgate")
        self.assertEqual(run("systemctl", "is-active", "nightgate-nightly.timer", code=3).out.strip(), "inactive")
        self.assertIn("drwx------ nightgate /var/lib/nightgate/fast/postgres", self.state())
        run("test", "-s", "/etc/nightgate/credentials/github-token")
        run("test", "!", "-e", "/usr/bin/nightgate")
        run("dpkg", "-i", "/srv/second.deb")  # and it goes on where it was
        self.assertEqual(self.night("nightly", "--json", "--force")["night"], 3)
        purged = run("dpkg", "--purge", "nightgate")
        self.assertNotIn("warning", purged.err)
        for path in ("/var/lib/nightgate", "/etc/nightgate", "/usr/share/doc/nightgate", "/usr/share/nightgate",
                     "/etc/systemd/system/timers.target.wants/nightgate-nightly.timer"):
            run("test", "!", "-e", path)
        self.assertEqual(run("dpkg", "-s", "nightgate", code=1).out, "")


if __name__ == "__main__":
    unittest.main()
