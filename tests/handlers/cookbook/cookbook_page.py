#!/usr/bin/env python3
"""docs/sdk/cookbook.md has the text of the recipes that the tests compile and run.

A recipe in a source of this folder is the lines between `// recipe: NAME` and `// end`.
In the page it is the code after the line `<!-- recipe: NAME -->`.

Usage: cookbook_page.py [--write]

Fails if page and sources differ. With --write, the page gets the text of the sources.
"""

import difflib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "sdk" / "cookbook.md"
SOURCE = re.compile(r"^// recipe: (\w+)\n(.*?)^// end$", re.MULTILINE | re.DOTALL)
ON_PAGE = re.compile(r"^<!-- recipe: (\w+) -->\n```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# So that a change of the markers does not go unnoticed.
FEWEST = 12


def read(pattern, path):
    """The recipes of a file, as {name: text}. Each marker has to begin a whole recipe."""
    text = path.read_text(encoding="utf-8")
    found = pattern.findall(text)
    markers = len(re.findall(r"^(?:// |<!-- )recipe: ", text, re.MULTILINE))
    if markers != len(found) or len(found) != len(dict(found)):
        raise SystemExit(f"{path}: a recipe is not closed, or is there twice")
    return dict(found)


def recipes_of_sources():
    """All recipes of the folder, as {name: text}."""
    recipes = {}
    for path in sorted(HERE.glob("*.cc")):
        for name, text in read(SOURCE, path).items():
            if name in recipes:
                raise SystemExit(f"{path}: the recipe {name} is there twice")
            recipes[name] = text
    return recipes


def main():
    """Compares or writes the page."""
    if sys.argv[1:] not in ([], ["--write"]):
        raise SystemExit(__doc__)
    sources = recipes_of_sources()
    if len(sources) < FEWEST:
        raise SystemExit(f"{HERE} has {len(sources)} recipes, fewer than {FEWEST}")
    page = read(ON_PAGE, PAGE)
    if set(page) != set(sources):
        only = ", ".join(sorted(set(page) ^ set(sources)))
        raise SystemExit(f"only in the page or only in the sources: {only}")
    if sys.argv[1:]:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            ON_PAGE.sub(
                lambda found: f"<!-- recipe: {found[1]} -->\n```cpp\n{sources[found[1]]}```", text),
            encoding="utf-8")
        return 0
    for name, text in page.items():
        sys.stdout.writelines(
            difflib.unified_diff(text.splitlines(True), sources[name].splitlines(True),
                                 f"cookbook.md, {name}", f"the source of {name}"))
    if page != sources:
        print(f"the page is not the text of the sources; renew it with {__file__} --write")
        return 1
    print(f"{len(page)} recipes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
