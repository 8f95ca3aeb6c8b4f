"""A whole machine for tests: an overlay over a root directory, in namespaces of its own, in which systemd is process 1.

Nothing done in it reaches the machine that tests: files go to a tmpfs, processes, network, host name and cgroups are its own,
/sys and /proc/sys are read-only. It is gone when the test ends, however it ends. Needs root."""
import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

import support

INSIDE = r"""
set -eu
dir=$1 lower=$2 root=$1/root
mkdir -p "$dir/layers" "$root"
mount -t tmpfs -o size=3g,mode=755 layers "$dir/layers"
mkdir "$dir/layers/up" "$dir/layers/work"
[ ! -d "$dir/files" ] || cp -a "$dir/files/." "$dir/layers/up/"
mount -t overlay -o "lowerdir=$lower,upperdir=$dir/layers/up,workdir=$dir/layers/work" overlay "$root"
mountpoint -q "$root"
# What the machine that tests has of nightgate itself is not there.
rm -rf "$root/var/lib/nightgate" "$root/var/lib/nightgate-clusters" "$root/etc/nightgate"
for unit in docker.socket podman.socket systemd-sysctl.service systemd-modules-load.service systemd-timesyncd.service \
  systemd-binfmt.service sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount dev-hugepages.mount \
  proc-sys-fs-binfmt_misc.automount apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer man-db.timer fstrim.timer \
  podman-auto-update.timer networking.service; do
  ln -sfn /dev/null "$root/etc/systemd/system/$unit"
done
: > "$root/etc/fstab"
[ -s "$root/etc/machine-id" ] || tr -d - < /proc/sys/kernel/random/uuid > "$root/etc/machine-id"
mount -t proc proc "$root/proc"
mount --bind -o ro "$root/proc/sys" "$root/proc/sys" && mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty; do : > "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"; done
mkdir "$root/dev/shm" "$root/dev/pts"
ln -s /proc/self/fd "$root/dev/fd"
mount -t devpts -o newinstance,mode=620,ptmxmode=666 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
cd "$root"
pivot_root . .
umount -l .
mount --make-rshared /
hostname bench
exec env -i container=nightgate-test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . \
  /lib/systemd/systemd --system --log-target=journal --show-status=0 --unit=basic.target
"""


def tree():
    """Where cgroup v2 is; None where it is not, and then systemd can't be process 1."""
    return next((place for place in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
                 if (place / "cgroup.controllers").exists()), None)


class Machine:
    """A running machine; files under `directory`/files are in its root from the start."""

    def __init__(self, directory, lower="/"):
        self.dir = Path(directory)
        self.group = tree() / f"nightgate-test-{os.getpid()}-{time.monotonic_ns()}"
        script = self.dir / "inside.sh"
        script.write_text(INSIDE)
        enter = f"mkdir {self.group} && echo $$ > {self.group}/cgroup.procs && "
        self.log = open(self.dir / "machine.log", "w")  # noqa: SIM115
        self.holder = subprocess.Popen(
            ["sh", "-c", enter + 'exec setpriv --pdeathsig KILL unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child '
             '--propagation private sh "$@"', "sh", str(script), str(self.dir), str(lower)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.holder.poll() is None:
            self.first = self.systemd()
            if self.first and self.run("systemctl", "is-active", "basic.target", code=None).out.strip() == "active":
                return
            time.sleep(0.1)
        said = (self.dir / "machine.log").read_text()
        self.stop()
        raise AssertionError(f"systemd did not come up: {said}")

    def systemd(self):
        """The number, out here, of its process 1; None while it is being set up."""
        for child in Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split():
            try:
                if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    return child
            except OSError:
                pass  # one of the helpers that unshare starts first
        return None

    def run(self, *arguments, code=0, timeout=120, **options):
        """Runs a command in it, as root."""
        ran = support.run(["nsenter", "--target", self.first, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup",
                           "--root", "--wd", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root",
                           *arguments], timeout=timeout, **options)
        if code is not None and ran.code != code:
            raise AssertionError(f"expected exit code {code}\n{ran}")
        return ran

    def stop(self):
        if self.holder.poll() is None:
            self.holder.kill()  # and with it, as --kill-child says, everything in it
        self.holder.wait()
        self.log.close()
        for _ in range(50):
            try:
                for group in sorted(self.group.rglob("*/"), reverse=True) + [self.group]:
                    if group.is_dir():
                        group.rmdir()
                return
            except OSError:
                time.sleep(0.1)  # its processes are still ending


def need_machine():
    """Skips where no machine can be made."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("a machine of its own needs root")
    if tree() is None:
        raise unittest.SkipTest("systemd as process 1 needs cgroup v2")
    for command in ("unshare", "nsenter", "/lib/systemd/systemd"):
        if shutil.which(command) is None:
            raise unittest.SkipTest(f"no {command} here; ci/setup installs it")
