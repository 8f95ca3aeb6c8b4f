"""The runner's image, built from ci/packaging/Dockerfile on a Debian 12 that debootstrap made, in an engine of its own.

Run by `ci/soak package`: NIGHTGATE_TEST_BASE names the root directory that becomes debian:bookworm-slim."""
import json
import os
import shutil
import unittest

import support
from project import Project
from test_package import make_package


class Image(support.Case):
    def docker(self, *arguments, code=0, timeout=600, **options):
        ran = support.run(["docker", *arguments], env={"DOCKER_HOST": self.engine, "DOCKER_BUILDKIT": "0"}, timeout=timeout, **options)
        if code is not None:
            self.assertEqual(ran.code, code, str(ran))
        return ran

    def test_image(self):
        self.need("docker", "dockerd")
        base = os.environ["NIGHTGATE_TEST_BASE"]
        context = self.dir / "context"
        context.mkdir()
        make_package(context, "0.1.0")
        shutil.rmtree(context / "_CPack_Packages", ignore_errors=True)
        started = support.run([support.ROOT / "ci/engine", "start", self.dir / "engine", "--while", str(os.getpid())])
        self.assertEqual(started.code, 0, str(started))
        self.addCleanup(support.run, [support.ROOT / "ci/engine", "stop", self.dir / "engine"])
        self.engine = f"unix://{self.dir}/engine/docker.sock"
        imported = support.run(["sh", "-c", f"tar -C {base} -c . | docker import - debian:bookworm-slim"], timeout=300,
                               env={"DOCKER_HOST": self.engine})
        self.assertEqual(imported.code, 0, str(imported))
        self.docker("build", "--network", "host", "-f", support.ROOT / "ci/packaging/Dockerfile", "-t", "nightgate-runner", context)
        self.assertIn("nightgate 0.1.0", self.docker("run", "--rm", "--network", "host", "nightgate-runner", "--version").out)
        self.night()

    def night(self):
        """Two nights of a project in the working directory; the state is kept in volumes."""
        made = Project(self.dir / "work", [(1000, 2.0)] * 2)
        del made.config["state"]
        made.write_config()
        places = ["-v", f"{made.dir}:/work", "-v", "state:/var/lib/nightgate", "-v", "clusters:/var/lib/nightgate-clusters"]

        def nightgate(*arguments, code=0):
            return self.docker("run", "--rm", "--network", "host", *places, "nightgate-runner", *arguments, code=code)
        self.assertTrue(json.loads(nightgate("check", "--json").out)["ready"])
        for number in (1, 2):
            made.main_at(number)
            self.assertEqual(json.loads(nightgate("nightly", "--json").out)["night"], number)


if __name__ == "__main__":
    unittest.main()
