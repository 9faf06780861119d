"""Packages of npm for tests in Node."""

import fcntl
import os
import pathlib
import shutil
import subprocess

from harness import places


def npm_packages(source, directory):
    """Installs what the package in `source` needs into `directory`, once. Returns
    why that cannot be done, or ""."""
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
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, directory / name)
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"npm cannot install it: {done.stderr[-1000:]}"
        installed.write_text(wanted)
    return ""


def actord_project(project):
    """Makes a folder where the package `actord` is installed, and what its tests
    need. Returns why that cannot be done, or ""."""
    packages = pathlib.Path(os.environ["ACTORD_E2E_NODE_DIR"]) / "actord"
    why_not = npm_packages(places.SOURCE / "client" / "node", packages)
    if why_not:
        return why_not
    modules = project / "node_modules"
    modules.mkdir(parents=True)
    for installed in (packages / "node_modules").iterdir():
        (modules / installed.name).symlink_to(installed)
    shutil.unpack_archive(os.environ["ACTORD_E2E_NODE_PACKAGE"], modules)
    (modules / "package").rename(modules / "actord")
    return ""
