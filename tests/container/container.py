"""Runs a command of an image in namespaces of its own, without an engine.

The container has a root that it cannot write to but for its volumes, the image's
user, process 1, and a network of its own with nothing but loopback in it.
"""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

# Becomes process 1: $1 is the image's root, $2 and $3 the user and the group, $4
# the folders that are volumes, $5 the variables of the environment, the rest the
# command. Rights are dropped last,
# with what the image itself has.
ENTER = """
set -euo pipefail
root=$1 user=$2 group=$3 volumes=$4 variables=$5
shift 5
ip link set lo up
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,ro,bind "$root"
for volume in $volumes; do
  mount -t tmpfs -o "uid=$user,gid=$group,mode=0750" tmpfs "$root$volume"
done
exec env -i $variables chroot "$root" setpriv \\
  --reuid="$user" --regid="$group" --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all "$@"
"""


def wait_until(condition, seconds, what):
    """Polls `condition` until it is true; raises after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


class Container:
    """Process 1 runs from the constructor on; close() leaves nothing behind.
    `variables`: NAME=VALUE without spaces, which commands inside have, too."""

    def __init__(self, root, user, command, volumes, variables):
        self._user, self._group = user.split(":")
        self._variables = dict(variable.split("=", 1) for variable in variables)
        self._output = tempfile.TemporaryFile()
        self._unshare = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork",
             "bash", "-c", ENTER, "enter", root, self._user,
             self._group, " ".join(volumes), " ".join(variables), *command],
            stdin=subprocess.DEVNULL, stdout=self._output,
            stderr=subprocess.STDOUT)

    def pid(self):
        """Process 1 as this machine numbers it, or None if there is none."""
        unshare = self._unshare.pid
        children = pathlib.Path(f"/proc/{unshare}/task/{unshare}/children")
        try:
            numbers = children.read_text().split()
        except FileNotFoundError:
            return None
        return int(numbers[0]) if numbers else None

    def run(self, *command, inside=True, stdin=b"", seconds=30):
        """Runs a command; inside as the image's user in the image's root,
        otherwise as a program of this machine that shares the network."""
        where = ["--target", str(self.pid()), "--net"]
        if inside:
            where += ["--mount", "--pid", "--root", "--wd=/",
                      f"--setuid={self._user}",
                      f"--setgid={self._group}"]
        return subprocess.run(
            ["nsenter", *where, *command], input=stdin, timeout=seconds,
            capture_output=True, check=False,
            env=self._variables if inside else {"PATH": "/usr/bin:/bin"})

    def signal(self, number):
        os.kill(self.pid(), number)

    def running(self):
        return self._unshare.poll() is None

    def wait(self, seconds):
        """Returns the exit status of process 1."""
        return self._unshare.wait(seconds)

    def log(self):
        """What process 1 has written so far."""
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def close(self):
        if self.running():
            if pid := self.pid():
                os.kill(pid, signal.SIGKILL)  # And with it all in there.
            self.wait(10)
        self._output.close()
