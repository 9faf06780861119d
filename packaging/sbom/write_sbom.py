#!/usr/bin/python3
"""Writes what Debian packages, or an image, consist of, as SPDX 2.3 in JSON.

Usage: write_sbom.py OUT DEB...
       write_sbom.py OUT --image VERSION --dpkg FOLDER

For packages, the document has every package that dpkg would install with them, in
the version of this machine, on which they were built. For an image, it has every
package that is installed in the image; FOLDER is a copy of its /var/lib/dpkg. Both
have the sources that are compiled in, in the version of this machine.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENDOR = ROOT / "daemon/console/site/vendor/README.md"
# Packages of Debian of which there is only source, by the package that has it
# compiled in.
COMPILED_IN = {
    "actord": ["libabsl-dev", "libboost1.74-dev", "libcli11-dev", "nlohmann-json3-dev"],
    "actorctl": ["libabsl-dev", "libcli11-dev", "nlohmann-json3-dev"],
    "actord-dev": ["nlohmann-json3-dev"],
}
LICENSES = {"actord": "Apache-2.0 AND MIT"}
FIELDS = ["Package", "Version", "Architecture", "Depends", "Pre-Depends", "source:Package",
          "source:Version"]


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=True).stdout


def installed_packages(folder="/var/lib/dpkg"):
    """Name -> fields, of everything that is installed according to dpkg's `folder`; a
    virtual package leads to the package that provides it."""
    form = "\t".join(f"${{{field}}}" for field in [*FIELDS, "Provides", "db:Status-Status"])
    found, provided = {}, {}
    for line in output("dpkg-query", f"--admindir={folder}", "-W", f"-f={form}\n").splitlines():
        *values, provides, status = line.split("\t")
        if status != "installed":
            continue
        fields = dict(zip(FIELDS, values))
        found[fields["Package"]] = fields
        for name in names_in(provides):
            provided.setdefault(name[0], fields)
    return provided | found


def names_in(field):
    """The dependencies in a field, each as a list of alternatives."""
    for part in filter(None, (part.strip() for part in field.split(","))):
        yield [re.match(r"[a-z0-9][a-z0-9.+-]*", word.strip())[0] for word in part.split("|")]


def dependencies(fields):
    for field in ("Pre-Depends", "Depends"):
        yield from names_in(fields.get(field, ""))


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def entry(spdx_id, name, version, purl, **more):
    return {"SPDXID": spdx_id, "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER",
                              "referenceType": "purl", "referenceLocator": purl}],
            **more}


def purl_of(fields):
    version = fields["Version"].replace("+", "%2B").replace(":", "%3A")
    name = fields["Package"].replace("+", "%2B")
    return f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}&distro=debian-12"


class Document:

    def __init__(self):
        self.installed = installed_packages()
        self.entries = {}
        self.relationships = []

    def relate(self, one, kind, other):
        self.relationships.append({"spdxElementId": one, "relationshipType": kind,
                                   "relatedSpdxElement": other})

    def add_installed(self, name):
        """Adds an installed package with all that it depends on; returns its ID."""
        fields = self.installed[name]
        if identifier("deb", fields["Package"]) in self.entries:
            return identifier("deb", fields["Package"])
        spdx_id = self.add_debian(fields)
        self.add_dependencies(spdx_id, fields)
        return spdx_id

    def add_debian(self, fields):
        """Adds a package of Debian, without what it depends on; returns its ID."""
        spdx_id = identifier("deb", fields["Package"])
        self.entries.setdefault(spdx_id, entry(
            spdx_id, fields["Package"], fields["Version"], purl_of(fields),
            sourceInfo=f"Debian source package {fields['source:Package']} "
                       f"{fields['source:Version']}"))
        return spdx_id

    def add_dependencies(self, spdx_id, fields):
        for alternatives in dependencies(fields):
            chosen = next((name for name in alternatives if name in self.installed), None)
            if chosen is None:
                raise SystemExit(f"{fields['Package']} depends on {' | '.join(alternatives)}, "
                                 "which is not installed on this machine")
            self.relate(spdx_id, "DEPENDS_ON", self.add_installed(chosen))

    def add_console(self, spdx_id):
        rows = re.findall(r"^\| `(\S+)` \| (\S+) (\S+) \| (\S+) \| `(\w+)` \|$",
                          VENDOR.read_text(encoding="utf-8"), re.M)
        if not rows:
            raise SystemExit(f"{VENDOR} has no table")
        for _, name, version, license_name, _ in rows:
            part = identifier("npm", name)
            if part not in self.entries:
                self.entries[part] = entry(part, name, version, f"pkg:npm/{name}@{version}",
                                           licenseDeclared=license_name)
                self.relate(spdx_id, "CONTAINS", part)

    def add_deb(self, path):
        names = ["Package", "Version", "Architecture", "Depends"]
        text = output("dpkg-deb", "-f", path, *names)
        fields = dict(line.split(": ", 1) for line in text.splitlines())
        name = fields["Package"]
        spdx_id = identifier("Package", name)
        self.entries[spdx_id] = entry(
            spdx_id, name, fields["Version"], purl_of(fields),
            packageFileName=path.name, primaryPackagePurpose="INSTALL",
            licenseDeclared=LICENSES.get(name, "Apache-2.0"),
            checksums=[{"algorithm": "SHA256",
                        "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}])
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id)
        self.add_dependencies(spdx_id, fields)
        self.add_compiled_in(spdx_id, name)
        return fields["Version"]

    def add_compiled_in(self, spdx_id, *names):
        """The sources that are compiled into the packages `names`. What the packages
        of these sources depend on is not."""
        for source in sorted({each for name in names for each in COMPILED_IN[name]}):
            self.relate(spdx_id, "STATIC_LINK", self.add_debian(self.installed[source]))
        if "actord" in names:
            self.add_console(spdx_id)

    def add_image(self, version, folder):
        spdx_id = identifier("Image", "actord")
        self.entries[spdx_id] = entry(
            spdx_id, "actord", version, f"pkg:oci/actord?tag={version}",
            primaryPackagePurpose="CONTAINER", licenseDeclared=LICENSES["actord"])
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id)
        inside = {each["Package"]: each for each in installed_packages(folder).values()}
        for name in sorted(inside):
            self.relate(spdx_id, "CONTAINS", self.add_debian(inside[name]))
        self.add_compiled_in(spdx_id, "actord", "actorctl")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("debs", type=pathlib.Path, nargs="*", metavar="DEB")
    parser.add_argument("--image", metavar="VERSION")
    parser.add_argument("--dpkg", metavar="FOLDER")
    told = parser.parse_args()
    if bool(told.image) != bool(told.dpkg) or bool(told.image) == bool(told.debs):
        parser.error("give packages, or --image and --dpkg")
    return told


def main():
    told = parse()
    document = Document()
    if told.image:
        versions = {told.image}
        document.add_image(told.image, told.dpkg)
    else:
        versions = {document.add_deb(path) for path in sorted(told.debs)}
    if len(versions) != 1:
        raise SystemExit(f"packages of one version are needed, not {sorted(versions)}")
    version = versions.pop()
    made = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), datetime.timezone.utc)
    packages = list(document.entries.values())
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    told.out.write_text(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"actord-{version}",
        # An address of this kind names the document, and leads nowhere.
        "documentNamespace": f"https://actord.invalid/spdx/actord-{version}-{digest}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: actord-write_sbom"]},
        "packages": packages, "relationships": document.relationships,
    }, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
