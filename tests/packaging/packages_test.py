#!/usr/bin/python3
"""Makes the Debian packages of a release build, checks them with Debian's tools, and
uses them from a folder.

Usage: packages_test.py SOURCE BUILD WORK

Needs no root, and installs nothing on this machine.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE = BUILD = WORK = pathlib.Path()
PACKAGES = ["actord", "actorctl", "actord-dev"]
TOOLS = ["dh", "dpkg-deb", "dpkg-shlibdeps", "lintian", "systemd-analyze"]
# In tenths; docs/decisions/0070-debian-packages.md.
EXPOSURE_LIMIT = 15
START_SECONDS = 60

def run(*words, **options):
    """Runs a program that has to succeed; returns its standard output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=800, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}"
                             f"{done.stderr}")
    return done.stdout


def deb(package):
    found = list((WORK / "debs").glob(f"{package}_*.deb"))
    assert len(found) == 1, found
    return found[0]


class Packages(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        run(SOURCE / "packaging/debian/build", BUILD, WORK / "debs")
        cls.root = WORK / "root"
        for package in PACKAGES:
            run("dpkg-deb", "-x", deb(package), cls.root)

    def control(self, package, name):
        """A file of the package's control archive; "" if there is none."""
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "-e", deb(package), folder)
            file = pathlib.Path(folder, name)
            return file.read_text(encoding="utf-8") if file.exists() else ""

    def files(self, package):
        listing = run("dpkg-deb", "-c", deb(package)).splitlines()
        return {line.split()[5].removeprefix("."): line.split()[0]
                for line in listing if not line.endswith("/")}

    def test_lintian_finds_nothing(self):
        run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit",
            "0", *(deb(package) for package in PACKAGES))

    def test_only_the_three_packages_and_their_list_are_made(self):
        self.assertEqual(sorted(file.name.split("_")[0] + file.suffix
                                for file in (WORK / "debs").iterdir()),
                         sorted([f"{package}.deb" for package in PACKAGES] +
                                ["actord.json"]))

    def sbom(self):
        file, = (WORK / "debs").glob("*.spdx.json")
        return json.loads(file.read_text(encoding="utf-8"))

    def test_list_of_parts_is_of_one_piece(self):
        document = self.sbom()
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        names = [document["SPDXID"], *(part["SPDXID"] for part in document["packages"])]
        self.assertEqual(len(names), len(set(names)))
        reached = {"SPDXRef-DOCUMENT"}
        for relation in document["relationships"]:
            self.assertIn(relation["spdxElementId"], names)
            reached.add(relation["relatedSpdxElement"])
        self.assertEqual(reached, set(names))
        for part in document["packages"]:
            self.assertRegex(part["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertRegex(part["externalRefs"][0]["referenceLocator"],
                             r"^pkg:(deb/debian|npm)/[a-z0-9.%B-]+@[^ +]+$")

    def test_list_of_parts_has_the_hashes_of_the_packages(self):
        described = {part["packageFileName"]: part["checksums"][0]["checksumValue"]
                     for part in self.sbom()["packages"] if "checksums" in part}
        self.assertEqual(described, {
            deb(package).name: hashlib.sha256(deb(package).read_bytes()).hexdigest()
            for package in PACKAGES})

    def test_list_of_parts_has_each_library_that_the_programs_load(self):
        versions = {part["name"]: part["versionInfo"] for part in self.sbom()["packages"]}
        loaded = set()
        for program in ("actord", "actorctl"):
            text = run("ldd", self.root / "usr/bin" / program)
            loaded |= {os.path.realpath(path) for path in re.findall(r"(/\S+) \(", text)}
        self.assertGreater(len(loaded), 10)
        # Dpkg's data have the paths of before the merge of /usr.
        paths = sorted(loaded | {path.removeprefix("/usr") for path in loaded})
        owners = subprocess.run(["dpkg", "-S", *paths], capture_output=True, text=True,
                                check=False).stdout
        names = set(re.findall(r"^([a-z0-9.+-]+)(?::\w+)?: /", owners, re.M))
        self.assertGreater(len(names), 10)
        for name in names:
            version = run("dpkg-query", "-W", "-f=${Version}\n", name).split()[0]
            self.assertEqual(versions.get(name), version, name)
        for part in ("preact", "uplot", "htm", "libcli11-dev", "libboost1.74-dev"):
            self.assertIn(part, versions)

    def test_each_package_has_its_files(self):
        for package, wanted in {
                "actord": ["/usr/bin/actord", "/etc/actord/actord.toml",
                           "/lib/systemd/system/actord.service",
                           "/usr/lib/sysusers.d/actord.conf",
                           "/usr/lib/actord/plugins/echo.so",
                           "/usr/share/man/man8/actord.8.gz",
                           "/usr/share/man/man5/actord.toml.5.gz",
                           "/usr/share/doc/actord/operations.md",
                           "/usr/share/actord/compose.yaml",
                           "/usr/share/actord/grafana/actord.json",
                           "/usr/share/actord/kubernetes/actord.yaml",
                           "/usr/share/actord/kubernetes/kustomization.yaml",
                           "/usr/share/actord/prometheus/actord.rules.yml",
                           "/usr/share/doc/actord/sdk/reference.md"],
                "actorctl": ["/usr/bin/actorctl", "/usr/share/man/man1/actorctl.1.gz",
                             "/usr/share/man/man1/actorctl-submit.1.gz",
                             "/usr/share/bash-completion/completions/actorctl",
                             "/usr/share/zsh/vendor-completions/_actorctl",
                             "/usr/share/fish/vendor_completions.d/actorctl.fish"],
                "actord-dev": ["/usr/include/actord/abi.h",
                               "/usr/lib/cmake/actord/actordConfig.cmake",
                               "/usr/lib/libactord_testing.a",
                               "/usr/share/actord/new_plugin/new_plugin",
                               "/usr/share/actord/proto/actord/v1/actor_service.proto"],
        }.items():
            files = self.files(package)
            for file in [*wanted, f"/usr/share/doc/{package}/copyright",
                         f"/usr/share/doc/{package}/changelog.Debian.gz"]:
                self.assertIn(file, files, package)
        self.assertEqual(self.control("actord", "conffiles").split(),
                         ["/etc/actord/actord.toml"])

    def test_documents_lead_to_the_examples(self):
        found = 0
        folder = self.root / "usr/share/doc/actord"
        for page in folder.rglob("*.md"):
            text = page.read_text(encoding="utf-8")
            self.assertNotIn("](../packaging/", text, page)
            for link in re.findall(r"\]\((\.\./\.\./actord/[^)#]+)", text):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")
                found += 1
        self.assertGreaterEqual(found, 4)

    def test_programs_need_what_the_packages_depend_on(self):
        for package, libraries in {"actord": ["libgrpc++1.51", "librocksdb7.8", "libc6"],
                                   "actorctl": ["libgrpc++1.51", "libc6"]}.items():
            depends = run("dpkg-deb", "-f", deb(package), "Depends")
            for library in libraries:
                self.assertRegex(depends, rf"(^|, ){re.escape(library)} \(>= ")
        self.assertEqual(run("dpkg-deb", "-f", deb("actord-dev"), "Depends").strip(), "")

    def test_files_name_no_folder_of_this_machine(self):
        for folder in ("etc", "lib", "usr/include", "usr/lib/cmake", "usr/share"):
            for file in (self.root / folder).rglob("*"):
                if file.is_file():
                    self.assertNotIn(bytes(SOURCE), file.read_bytes(), file)

    def test_user_is_made_before_the_service_starts(self):
        script = self.control("actord", "postinst")
        self.assertLess(script.index("systemd-sysusers"), script.index("deb-systemd-invoke"))

    def test_systemd_understands_the_unit(self):
        unit = "/lib/systemd/system/actord.service"
        root = WORK / "systemd"
        shutil.copytree(self.root, root)
        # The unit names programs and targets of an installed system.
        for program in ("/bin/kill",):
            (root / program[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, root / program[1:])
        units = root / "lib/systemd/system"
        for target in ("sysinit", "basic", "network", "shutdown", "multi-user"):
            (units / f"{target}.target").write_text("[Unit]\nDescription=x\n")
        (root / "etc/passwd").write_text("root:x:0:0:::\nactord:x:999:999:::\n")
        (root / "etc/group").write_text("root:x:0:\nactord:x:999:\n")
        done = subprocess.run(
            ["systemd-analyze", f"--root={root}", "--man=no", "verify", unit],
            capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_service_is_hardened(self):
        unit = self.root / "lib/systemd/system/actord.service"
        run("systemd-analyze", "security", "--offline=true",
            f"--threshold={EXPOSURE_LIMIT}", unit)

    def start(self, environment):
        """Starts the packaged daemon with the packaged configuration, whose folders are
        moved below WORK."""
        text = (self.root / "etc/actord/actord.toml").read_text(encoding="utf-8")
        for place in ("/run/actord", "/var/lib/actord", "/usr/lib/actord"):
            self.assertIn(place, text)
            text = text.replace(f'"{place}', f'"{self.root}{place}')
            text = text.replace(f'"unix:{place}', f'"unix:{self.root}{place}')
            (self.root / place[1:]).mkdir(parents=True, exist_ok=True)
        config = WORK / "actord.toml"
        config.write_text(text, encoding="utf-8")
        unit = (self.root / "lib/systemd/system/actord.service").read_text("utf-8")
        command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
        self.assertEqual(command[1:], ["--config", "/etc/actord/actord.toml"])
        process = subprocess.Popen(
            [f"{self.root}{command[0]}", "--config", config], stderr=subprocess.PIPE,
            text=True, env={"PATH": os.environ["PATH"], **environment})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_packaged_daemon_serves_with_the_packaged_configuration(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(f"\0actord-packages-{os.getpid()}")
            manager.settimeout(START_SECONDS)
            process = self.start({"NOTIFY_SOCKET": f"@actord-packages-{os.getpid()}",
                                  "CACHE_DIRECTORY": str(WORK / "cache")})
            self.assertIn("READY=1", manager.recv(1000).decode())
        path = self.root / "run/actord/actord.sock"
        self.assertEqual(path.stat().st_mode & 0o777, 0o660)
        actorctl = [self.root / "usr/bin/actorctl", "--address", f"unix:{path}"]
        self.assertEqual(json.loads(run(*actorctl, "submit", "echo", '{"a": 1}', "--wait")),
                         {"a": 1})
        pid = run(*actorctl, "submit", "account", "--durable").strip()
        self.assertIn(pid, run(*actorctl, "ps", "-o", "name"))
        process.terminate()
        self.assertEqual(process.wait(START_SECONDS), 0, process.stderr.read())
        self.assertTrue((self.root / "var/lib/actord/store").is_dir())

    def test_plugin_is_built_from_the_packaged_headers(self):
        project = WORK / "plugin"
        project.mkdir()
        shutil.copy(SOURCE / "handlers/plugins/echo/echo.cc", project / "echo.cc")
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(echo CXX)\n"
            "find_package(actord REQUIRED)\nactord_add_plugin(echo SOURCES echo.cc)\n")
        run("cmake", "-S", project, "-B", project / "build",
            f"-DCMAKE_PREFIX_PATH={self.root}/usr")
        run("cmake", "--build", project / "build")
        plugin = ctypes.CDLL(str(project / "build/echo.so"))
        self.assertTrue(plugin.actord_plugin)


def main():
    global SOURCE, BUILD, WORK
    for tool in TOOLS:
        if shutil.which(tool) is None:
            print(f"PACKAGES NOT TESTED: {tool} is not in PATH")
            return
    SOURCE, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(dir=sys.argv[3], prefix="packages-") as work:
        WORK = pathlib.Path(work)
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
