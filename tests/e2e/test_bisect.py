"""Bisects on real programs, measured here and now: the test broker as artifacts, images and builds; nginx; PostgreSQL.

One of each kind, small. The full sizes are in soak_bisect.py (ci/soak bisect)."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import histories
import support
from real import LOAD, BisectCase, Hog, broker_config

CULPRIT, SECOND, BROKEN, LAST = 12, 20, 7, 24


class Artifacts(BisectCase):
    """One history: creates get slower at merge 12, and again at 20; the broker of 7 does not start."""

    @classmethod
    def setUpClass(cls):
        cls.top = Path(tempfile.mkdtemp(prefix="nightgate-bisect-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.merges = support.make_history(cls.top / "project", "--merges", str(LAST), "--culprit", str(CULPRIT),
                                          "--second", str(SECOND), "--broken", str(BROKEN))["merges"]

    def setUp(self):
        super().setUp()
        self.config = broker_config(self.top / "project", state=str(self.top / "state"))  # one database for all
        self.write(self.config)

    def test_in_the_middle_and_a_broker_that_does_not_start(self):
        document = self.bisect(2, 18)
        self.assert_culprit(document, CULPRIT)
        asked = {point for block in document["blocks"] for point in block["points"]}
        if BROKEN - 2 in asked:  # point 5 of this range
            skipped = {s["commit"]: s["why"] for s in document["skipped"]}
            self.assertIn("BROKER_TYPES", skipped[self.merges[BROKEN]["commit"]])

    def test_the_first_merge_and_the_last(self):
        self.assert_culprit(self.bisect(CULPRIT - 1, CULPRIT + 7), CULPRIT)
        self.assert_culprit(self.bisect(CULPRIT - 4, CULPRIT), CULPRIT)

    def test_a_culprit_without_a_target_is_a_range(self):
        few = self.dir / "few"
        few.mkdir()
        missing = {9, CULPRIT, CULPRIT + 1, 16}
        for merge in self.merges:
            if merge["n"] not in missing:
                (few / merge["commit"]).symlink_to(self.top / "project" / "builds" / merge["commit"])
        self.config["targets"] = {"artifact": "few/{sha}"}
        self.write(self.config)
        document = self.bisect(8, 18)
        self.assertEqual(document["outcome"], "range", self.short(document))
        self.assertIsNone(document["culprit"])
        self.assertEqual(document["range"], [self.merges[CULPRIT]["commit"], self.merges[CULPRIT + 2]["commit"]])
        self.assertEqual({s["commit"] for s in document["skipped"]}, {self.merges[n]["commit"] for n in missing})

    def test_an_end_that_does_not_start(self):
        ran = self.program("bisect", "--good", self.merges[BROKEN]["commit"], "--bad", self.merges[CULPRIT]["commit"],
                           "--metric", self.METRIC, code=3)
        self.assertIn("the good end " + self.merges[BROKEN]["commit"][:10], ran.err)
        self.assertIn("BROKER_TYPES", ran.err.splitlines()[-1])

    def test_no_regression(self):
        document = self.bisect(CULPRIT, CULPRIT + 7, code=4)
        self.assertEqual(document["outcome"], "not_reproduced", self.short(document))
        self.assertIsNone(document["culprit"])

    def test_two_regressions(self):
        document = self.bisect(CULPRIT - 2, LAST, "--all")
        # They are nearly of one size: which of them is the larger, and so the first to be named, is the noise's choice.
        two = {self.merges[n]["commit"]: n for n in (CULPRIT, SECOND)}
        self.assertIsNotNone(document["culprit"], self.short(document))
        first = two.pop(document["culprit"]["commit"], None)
        self.assertIsNotNone(first, self.short(document))
        self.assert_culprit(document, first, sure=0.6)
        self.assertTrue(document["residual"], self.short(document))
        others = [self.program("bisect", "--resume", str(n), "--json", code=None).json() for n in document["further"]]
        named = {other["culprit"]["commit"] for other in others if other["culprit"]}
        self.assertEqual(named, set(two), [self.short(other) for other in others])

    def test_a_hog_that_comes_and_goes(self):
        self.config["machine"].update({"broker_cpus": "0", "load_cpus": "1"})
        self.write(self.config)
        hog = Hog(cpu=0, busy=0.7, idle=1.5)
        self.addCleanup(hog.close)
        document = self.bisect(CULPRIT - 4, CULPRIT + 6)
        self.assert_culprit(document, CULPRIT)
        self.assertGreater(hog.times, 2)


class Images(BisectCase):
    """The targets are images in a real registry, pulled by a real engine. A merge of documents only is published as the image
    of the merge before it."""

    def setUp(self):
        super().setUp()
        self.need("dockerd", "docker-registry")
        if os.geteuid() != 0:
            self.skipTest("an engine of our own needs root")
        self.engine = Path(tempfile.mkdtemp(prefix="ng-engine-"))
        started = support.run([support.ROOT / "ci" / "engine", "start", self.engine, "--while", os.getpid()])
        if started.code != 0:
            self.skipTest(f"no engine runs here: {started.err.strip()[-300:]}")
        self.addCleanup(support.run, [support.ROOT / "ci" / "engine", "stop", self.engine])
        env = dict(line.split("=", 1) for line in (self.engine / "env").read_text().splitlines())
        self.merges = support.make_history(self.dir / "project", "--merges", "9", "--culprit", "5")["merges"]
        pushed = support.run([support.BROKER / "push-images", "--history", self.dir / "project", "--engine", env["ENGINE"],
                              "--registry", env["REGISTRY"], "--reuse-docs"], timeout=120)
        self.assertEqual(pushed.code, 0, str(pushed))
        self.config = broker_config(self.dir / "project", targets={"image": env["REGISTRY"] + "/broker:{sha}"},
                                    engine=env["ENGINE"])
        del self.config["deployments"]["memory"]["broker"]["command"]
        self.write(self.config)
        subprocess.run(["docker", "-H", env["ENGINE"], "image", "prune", "-a", "-f"], check=True, stdout=subprocess.DEVNULL)

    def test_a_merge_is_named_by_its_image(self):
        ran = self.program("bisect", "--good", self.merges[0]["commit"], "--bad", self.merges[9]["commit"],
                           "--metric", self.METRIC, "--json", timeout=200)
        document = ran.json()
        self.assert_culprit(document, 5)
        docs = [merge["n"] for merge in self.merges if merge.get("docs_only")]
        self.assertTrue(docs)
        digests = [point["digest"] for point in document["points"]]
        for n in docs:
            self.assertEqual(digests[n], digests[n - 1])
            self.assertEqual(document["posterior"][n], 0, "a merge that changed nothing is no suspect")
        pulled = [line.split("@")[1] for line in ran.err.splitlines() if line.startswith("pulling ")]
        self.assertEqual(len(pulled), len(set(pulled)), "each image once")
        self.assertLessEqual(set(pulled), set(digests))
        # Two merges with one image leave nothing to search between.
        ran = self.program("bisect", "--good", self.merges[docs[0] - 1]["commit"], "--bad", self.merges[docs[0]]["commit"],
                           "--metric", self.METRIC, code=2)
        self.assertIn("both ends are the same target", ran.err)


class Builds(BisectCase):
    def test_merges_are_built_when_they_are_needed(self):
        """The broker's own build.sh in a clean checkout of each merge; the compiler's cache makes it short."""
        self.need("ccache", "g++")
        self.merges = support.make_history(self.dir / "project", "--merges", "5", "--culprit", "3", "--no-builds")["merges"]
        self.write(broker_config(self.dir / "project", targets={
            "build": ["env", "CXX=ccache g++", "CCACHE_NOHASHDIR=1", "sh", "build.sh", "{out}", "{sha}"]}))
        document = self.bisect(0, 5)
        self.assert_culprit(document, 3)
        measured = {merge for block in document["blocks"] for merge in block["merges"]}
        built = {path.name.split("-")[0] for path in (self.dir / "state" / "builds").iterdir() if path.is_dir()}
        self.assertEqual(built, measured)


class NotWrittenHere(BisectCase):
    def test_nginx(self):
        """A merge of the configuration compresses everything at the highest level."""
        self.need("nginx")
        port = support.free_port()
        self.merges = histories.nginx(self.dir / "shop", 12, 8, port)
        self.write(histories.nginx_config(broker_config(""), self.dir / "shop", port, [sys.executable, str(LOAD)]))
        self.assert_culprit(self.bisect(0, 12, metric="web.catalogue.rate"), 8)

    def test_postgresql(self):
        """A merge of the settings logs the plan of every statement; the load is pgbench, which prints what it sees."""
        if histories.postgres_programs() is None:
            self.skipTest("no PostgreSQL server here; ci/setup installs it")
        cluster = Path(tempfile.mkdtemp(prefix="nightgate-pg-"))
        self.addCleanup(shutil.rmtree, cluster, ignore_errors=True)
        made = support.run([support.ROOT / "tests/e2e/pgbench_load.py", cluster, "--make"])
        self.assertEqual(made.code, 0, str(made))
        self.merges = histories.postgres(self.dir / "settings", 12, 6)
        self.write(histories.postgres_config(broker_config(""), self.dir / "settings", cluster))
        self.assert_culprit(self.bisect(0, 12, metric="default.select.tps"), 6)


if __name__ == "__main__":
    unittest.main()
