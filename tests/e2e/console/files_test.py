"""The files of the console: their size, where the foreign ones come from, and how
the daemon serves them."""

import gzip
import hashlib
import re
import subprocess
import unittest

from admin.pages import admin_port, get
from harness import places
from harness.case import EmptyCase

SITE = places.SOURCE / "daemon" / "console" / "site"
MOST_BYTES = 150_000
# Of one picture of the documentation.
MOST_PICTURE_BYTES = 60_000
SERVED = (".html", ".js", ".css", ".svg", ".LICENSE")


def served_files():
    return sorted(path for path in SITE.rglob("*") if path.suffix in SERVED)


class Files(unittest.TestCase):

    def test_are_small_and_correct(self):
        files = served_files()
        size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in files)
        self.assertLess(size, MOST_BYTES)
        for path in files:
            text = path.read_text()
            # uPlot's text names the namespace of SVG and its own site.
            if path.parent.name == "vendor":
                continue
            self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""),
                                r"https?://", path)
            self.assertNotRegex(text, r"innerHTML|dangerouslySet|\beval\(| style=", path)
            self.assertTrue(text.isascii() or "\u2013" in text or "\u2026" in text
                            or "\u2212" in text, path)
        scripts = [path for path in files if path.suffix == ".js"]
        for path in scripts:
            subprocess.run(["node", "--check", str(path)], check=True)

    def test_pictures_of_the_documentation_are_small(self):
        page = places.SOURCE / "docs" / "console.md"
        pictures = {path.name: path.stat().st_size
                    for path in page.with_suffix("").glob("*.png")}
        self.assertEqual(set(re.findall(r"\(console/(\w+\.png)\)", page.read_text())),
                         set(pictures))
        self.assertLess(max(pictures.values()), MOST_PICTURE_BYTES, pictures)

    def test_of_others_are_those_of_the_table(self):
        table = (SITE / "vendor" / "README.md").read_text()
        rows = re.findall(r"^\| `([^`]+)` \| \S+ \S+ \| (\S+) \| `([0-9a-f]{64})` \|$",
                          table, re.M)
        found = {path.name for path in (SITE / "vendor").iterdir()} - {"README.md"}
        licences = {name for name in found if name.endswith(".LICENSE")}
        self.assertEqual({name for name, _, _ in rows}, found - licences)
        for name, licence, wanted in rows:
            self.assertIn(licence, ("MIT", "Apache-2.0"))
            self.assertIn(name.split(".")[0] + ".LICENSE", licences)
            data = (SITE / "vendor" / name).read_bytes()
            self.assertEqual(hashlib.sha256(data).hexdigest(), wanted, name)


class Served(EmptyCase):

    def test_with_a_strict_policy_and_only_with_the_api(self):
        port = admin_port(self.start_daemon("--admin-listen", "127.0.0.1:0",
                                            "--admin-api", plugins=False))
        for path in served_files():
            status, headers, text = get(port, f"/console/{path.relative_to(SITE)}")
            self.assertEqual((status, text), (200, path.read_text()), path)
        self.assertEqual(get(port, "/console/main.js")[1]["Content-Type"],
                         "text/javascript; charset=utf-8")
        status, headers, text = get(port, "/console/")
        self.assertEqual((status, text), (200, (SITE / "index.html").read_text()))
        policy = headers["Content-Security-Policy"]
        self.assertRegex(policy, "^default-src 'none'; script-src 'self'; style-src 'self'; ")
        self.assertNotIn("unsafe", policy)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertIsNone(headers["Set-Cookie"])
        same = get(port, "/console/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((same[0], same[2]), (304, ""))
        self.assertNotIn("Content-Length", same[1])
        self.assertEqual(get(port, "/console")[1]["Location"], "/console/")
        self.assertEqual(get(port, "/")[0], 307)
        self.assertEqual(get(port, "/")[1]["Location"], "/console/")
        for path in ("/console/none.js", "/console/../openapi.json", "/console/vendor/README.md"):
            self.assertEqual(get(port, path)[0], 404)
        self.assertEqual(get(port, "/console/", method="POST")[0], 405)
        self.assertEqual(get(port, "/console/", headers={"Host": "evil.example"})[0], 421)

    def test_not_without_the_api(self):
        port = admin_port(self.start_daemon("--admin-listen", "127.0.0.1:0", plugins=False))
        self.assertEqual(get(port, "/console/")[0], 404)
        self.assertEqual(get(port, "/")[0], 404)
        self.assertEqual(get(port, "/v1/history")[0], 404)
