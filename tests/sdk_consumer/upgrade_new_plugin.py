"""Upgrades a process of a plugin that `./dev new` has made, in the way that it says.

upgrade_new_plugin.py ACTORD ACTORCTL NAME OLD.so NEW.so
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from run_in_daemon import DEADLINE_SECONDS, in_daemon


def upgrade(actorctl, address, name, plugins, new):
    def run(*words, status=0):
        command = [actorctl, "--address", address, *words]
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=DEADLINE_SECONDS, check=False)
        if done.returncode != status:
            sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.strip(), done.stderr

    def expect(what, seen, wanted):
        if wanted not in seen:
            sys.exit(f"{what}: {seen!r} instead of {wanted!r}")

    pid, _ = run("submit", name, "-o", "name")
    run("send", pid, "40", "--topic", "add")
    # Refused at once, not after the timeout of the call.
    _, error = run("call", pid, "2", "--topic", "subtract", status=1)
    expect("an unknown topic", error, "known are add, confirm")
    expect("confirm", run("call", pid, "--topic", "confirm")[0], "40")
    shutil.copyfile(new, plugins / f"{name}.so")
    loaded, _ = run("plugin", "load", f"{name}.so", "--wait", "-o", "json")
    if json.loads(loaded)["upgraded"] != 1:
        sys.exit(f"the process has not upgraded: {loaded}")
    expect("the sum", run("call", pid, "2", "--topic", "add")[0], "42")
    # The new version has taken the command over.
    [token] = run("yields", "-o", "name")[0].splitlines()
    run("complete", token, "thanks")
    expect("the result", run("await", pid)[0], "thanks")


def main():
    actord, actorctl, name, old, new = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        plugins = pathlib.Path(directory)
        shutil.copyfile(old, plugins / f"{name}.so")
        in_daemon(actord,
                  ["--plugin-dir", str(plugins), "--external", f"{name}.*"],
                  lambda address: upgrade(actorctl, address, name, plugins, new))


if __name__ == "__main__":
    main()
