"""Packages of npm for tests in Node."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import time

from harness import places

# How long no test tries again what npm could not install.
REMEMBERED_SECONDS = 600
# The registry may have a hiccup. All tries end before CTest takes a test to hang.
TRIES = 2
TRY_SECONDS = 120


def packages_directory(name):
    """Where the packages of these tests are kept from run to run."""
    return pathlib.Path(os.environ["ACTORD_E2E_NODE_DIR"]) / name


def install_packages(case, source, directory):
    """Installs what the package in `source` needs into `directory`, once. Without
    npm or its registry the test `case` is skipped."""
    why_not = _install(source, directory)
    if why_not:
        # CTest looks for these words and shows the test as skipped.
        print(f"NODE EXAMPLE NOT TESTED: {why_not}", file=sys.stderr)
        case.skipTest(why_not)


def _install(source, directory):
    """Returns why that cannot be done, or ""."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return f"there is no {program}; ./dev setup test installs it"
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (source / "package-lock.json").read_text()
        installed = directory / "installed"
        if installed.exists() and installed.read_text() == wanted:
            return ""
        why_not = _remembered(directory / "failed")
        if why_not:
            return why_not
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, directory / name)
        why_not = _run_npm(directory)
        if why_not:
            (directory / "failed").write_text(why_not)
            return why_not
        installed.write_text(wanted)
    return ""


def _remembered(failed):
    """Why another test could not install it a short time ago, or ""."""
    if not failed.exists() or time.time() - failed.stat().st_mtime > REMEMBERED_SECONDS:
        return ""
    return failed.read_text()


def _run_npm(directory):
    """Returns why npm cannot install what the package in `directory` needs, or ""."""
    for _ in range(TRIES):
        try:
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                 "--fetch-retries=1"],
                cwd=directory, capture_output=True, text=True, timeout=TRY_SECONDS,
                check=False)
        except subprocess.TimeoutExpired:
            why_not = f"it took more than {TRY_SECONDS} s"
            continue
        if done.returncode == 0:
            return ""
        why_not = done.stderr[-1000:]
    return f"npm cannot install it: {why_not}"


def actord_project(case, project):
    """Makes a folder where the package `actord` is installed, and what its tests
    need. Without npm or its registry the test `case` is skipped."""
    packages = packages_directory("actord")
    install_packages(case, places.SOURCE / "client" / "node", packages)
    modules = project / "node_modules"
    modules.mkdir(parents=True)
    for installed in (packages / "node_modules").iterdir():
        (modules / installed.name).symlink_to(installed)
    shutil.unpack_archive(os.environ["ACTORD_E2E_NODE_PACKAGE"], modules)
    (modules / "package").rename(modules / "actord")
