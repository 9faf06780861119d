#!/usr/bin/python3
"""Writes what Debian packages consist of and depend on, as SPDX 2.3 in JSON.

Usage: write_sbom.py OUT DEB...

The versions of libraries are those of this machine, on which the packages were
built: dpkg's data say them. Besides the packages that dpkg would install, the
document has the sources that are compiled in.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

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


def installed_packages():
    """Name -> fields, of everything that is installed on this machine; a virtual
    package leads to the package that provides it."""
    form = "\t".join(f"${{{field}}}" for field in [*FIELDS, "Provides", "db:Status-Status"])
    found, provided = {}, {}
    for line in output("dpkg-query", "-W", f"-f={form}\n").splitlines():
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
        spdx_id = identifier("deb", fields["Package"])
        if spdx_id in self.entries:
            return spdx_id
        self.entries[spdx_id] = entry(
            spdx_id, fields["Package"], fields["Version"], purl_of(fields),
            sourceInfo=f"Debian source package {fields['source:Package']} "
                       f"{fields['source:Version']}")
        self.add_dependencies(spdx_id, fields)
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
        for source in COMPILED_IN[name]:
            self.relate(spdx_id, "STATIC_LINK", self.add_source(source))
        if name == "actord":
            self.add_console(spdx_id)
        return fields["Version"]

    def add_source(self, name):
        """A package whose headers are compiled in; what it depends on is not."""
        fields = self.installed[name]
        spdx_id = identifier("deb", name)
        self.entries.setdefault(spdx_id, entry(
            spdx_id, name, fields["Version"], purl_of(fields),
            sourceInfo=f"Debian source package {fields['source:Package']} "
                       f"{fields['source:Version']}"))
        return spdx_id


def main():
    out, *debs = (pathlib.Path(word) for word in sys.argv[1:])
    document = Document()
    versions = {document.add_deb(path) for path in sorted(debs)}
    if len(versions) != 1:
        raise SystemExit(f"packages of one version are needed, not {sorted(versions)}")
    version = versions.pop()
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                           datetime.timezone.utc)
    packages = list(document.entries.values())
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    out.write_text(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"actord-{version}",
        # An address of this kind names the document, and leads nowhere.
        "documentNamespace": f"https://actord.invalid/spdx/actord-{version}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: actord-write_sbom"]},
        "packages": packages, "relationships": document.relationships,
    }, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
