"""Runs the plugins that were built from the install tree in a daemon, driven by
the command line, and again after a kill of the daemon.

run_in_daemon.py ACTORD ACTORCTL GREETER.so TALLY.so
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE_SECONDS = 30


def wait_for_port(daemon, port_file):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if daemon.poll() is not None:
            sys.exit(f"actord ended with {daemon.returncode}")
        # Moved into place as a whole.
        if port_file.exists():
            return port_file.read_text().split()[0]
        time.sleep(0.02)
    sys.exit("actord does not serve")


def expect(what, seen, wanted):
    if seen != wanted:
        sys.exit(f"{what}: {seen!r} instead of {wanted!r}")


def runner(actorctl, address):
    """A function that runs actorctl and returns what it prints."""
    def run(*words):
        command = [actorctl, "--address", address, *words]
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=DEADLINE_SECONDS)
        if done.returncode != 0:
            sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.strip()
    return run


def drive(run):
    # A process type and a command of the plugin in C++.
    expect("greeter", run("submit", "greeter", "Ada", "--wait"), "Hello, Ada!")
    # The same in C.
    pid = run("submit", "tally", "-o", "name")
    run("send", pid, "one")
    run("send", pid, "two")
    run("send", pid, "--topic", "stop")
    expect("tally", run("await", pid), "2")


def begin_durable(run, pids):
    """Durable processes of the plugin in C: a flat state, and a snapshot."""
    for process_type in ("tally", "latest"):
        pid = run("submit", process_type, "--durable", "-o", "name")
        run("send", pid, "one")
        run("send", pid, "two")
        pids.append(pid)


def end_durable(run, pids):
    tally, latest = pids
    run("send", tally, "three")
    for pid, result in ((tally, "3"), (latest, "two")):
        run("send", pid, "--topic", "stop")
        expect(f"durable process {pid}", run("await", pid), result)


def in_daemon(actord, options, use, ends_by=signal.SIGTERM, exit_status=0):
    """Calls `use` with the address of a daemon, which then ends by a signal."""
    with tempfile.TemporaryDirectory() as directory:
        port_file = pathlib.Path(directory) / "port"
        daemon = subprocess.Popen([actord, "--listen", "127.0.0.1:0",
                                   "--port-file", str(port_file), *options])
        try:
            use(f"127.0.0.1:{wait_for_port(daemon, port_file)}")
            daemon.send_signal(ends_by)
            if daemon.wait(DEADLINE_SECONDS) != exit_status:
                sys.exit(f"actord ended with {daemon.returncode}")
        finally:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()


def main():
    actord, actorctl, *plugins = sys.argv[1:]
    options = [word for plugin in plugins for word in ("--plugin", plugin)]
    in_daemon(actord, options, lambda address: drive(runner(actorctl, address)))
    pids = []
    with tempfile.TemporaryDirectory() as directory:
        options += ["--store", f"{directory}/store"]
        in_daemon(actord, options,
                  lambda address: begin_durable(runner(actorctl, address), pids),
                  signal.SIGKILL, -signal.SIGKILL)
        in_daemon(actord, options,
                  lambda address: end_durable(runner(actorctl, address), pids))


if __name__ == "__main__":
    main()
