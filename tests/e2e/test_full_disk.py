"""Disks that are really full: the store's, the state directory's, and both. Nothing acknowledged is lost, and all is said."""
import json
import os
import subprocess
import unittest

from project import ProjectCase
from server import Server, postgres_programs

OPS = "default.work.ops"


class FullDisk(ProjectCase):
    def small_disk(self, name, megabytes):
        """A tmpfs of this size, or the test is skipped."""
        place = self.dir / name
        place.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0711", "none", place], check=False,
                                               stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("a small disk needs the right to mount one")
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        self.dir.chmod(0o711)  # PostgreSQL's user passes through
        return place

    @staticmethod
    def fill(place):
        with open(place / "filler", "ab", buffering=0) as filler:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        filler.write(b"x" * size)
                except OSError:
                    pass

    def nights(self):
        return [(n["night"], n["verdict"]) for n in self.program("history", OPS, "--json").json()["metrics"][0]["nights"]]

    def forced(self):
        return self.program("nightly", "--force", "--json", code=None)

    def test_the_store_s_disk(self):
        if not postgres_programs():
            self.skipTest("no PostgreSQL here; ci/setup installs it")
        disk = self.small_disk("disk", 160)
        server = Server(disk, ["min_wal_size=32MB", "max_wal_size=32MB", "shared_buffers=16MB"])
        self.addCleanup(server.close)
        self.project([(1000, 5)] * 3, store=server.where)
        self.night(1)
        self.fill(disk)
        # The log of transactions has room that is already its own: it takes some writes until the disk is felt.
        spooled = None
        for _ in range(40):
            ran = self.forced()
            document = json.loads(ran.out)
            if document.get("verdict") == "no_verdict":
                spooled = ran
                break
            self.assertIn(ran.code, (0, 4), str(ran))
        self.assertIsNotNone(spooled, "the disk was never felt to be full")
        self.assertTrue(list((self.dir / "state" / "spool").iterdir()), str(spooled))
        (disk / "filler").unlink()
        if not server.pid():
            server.start()
        after = self.forced()
        self.assertIn(after.code, (0, 4), str(after))
        self.assertEqual(list((self.dir / "state" / "spool").glob("*")), [])
        samples = server.sql("SET search_path = nightgate; SELECT n.sequence, count(*) FROM nights n JOIN samples s ON s.run = n.run "
                             f"WHERE s.metric = '{OPS}' GROUP BY 1 ORDER BY 1")
        self.assertEqual([int(n) for n, _ in samples], list(range(1, len(samples) + 1)))
        self.assertEqual({count for _, count in samples}, {"6"})

    def test_the_state_s_disk(self):
        if not postgres_programs():
            self.skipTest("no PostgreSQL here; ci/setup installs it")
        server = Server()
        self.addCleanup(server.close)
        disk = self.small_disk("disk", 8)
        self.project([(1000, 5)] * 3, store=server.where, state=str(disk / "state"), machine={"min_free_disk_gb": 0})
        self.night(1)
        self.fill(disk)
        full = self.forced()
        self.assertEqual(full.code, 3, str(full))
        self.assertRegex(full.out + full.err, "(?i)no space left|disk")
        server.close_for_now()
        both = self.forced()  # nowhere to write at all
        self.assertEqual(both.code, 3, str(both))
        self.assertRegex(both.out + both.err, "(?i)no space left|disk")
        server.start()
        (disk / "filler").unlink()
        after = self.forced()
        self.assertEqual(after.code, 0, str(after))
        self.assertEqual(list((disk / "state" / "spool").glob("*.damaged")), [])
        for night, verdict in self.nights():
            self.assertIn(verdict, ("warming_up", "good", "no_verdict", None), night)


if __name__ == "__main__":
    unittest.main()
