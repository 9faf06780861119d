"""The plugin ABI: constants, structs with offsets and sizes, and functions of
handlers/include/actord/abi*.h, as text.

Needs a C compiler and no build. Each declaration of the headers has to be of a kind
that is known here, so that none is left out unseen.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

INCLUDE = "handlers/include"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
DEFINE = re.compile(r"^#define[ \t]+(ACTORD_\w+(?:\([^)]*\))?)[ \t]+(.+)$", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.M)
LINKAGE = re.compile(r'\bextern "C" \{(.*)\}', re.S)
ENUM = re.compile(r"\benum(?: \w+)? \{([^{}]*)\} ?;")
STRUCT = re.compile(r"\btypedef struct (\w+) \{([^{}]*)\} \1 ?;"
                    r"|\bstruct (\w+) \{([^{}]*)\} ?;")
NAMED = re.compile(r"\b(?:typedef|extern) [^;{}]*;")
FUNCTION = re.compile(r"(.+?) ?\( ?\* ?(\w+) ?\) ?\((.*)\)$")
VARIABLE = re.compile(r"(.*[ *])(\w+)(\[[^]]*\])?$")


def without_parameter_names(parameters):
    """Names are for the reader; types and order are the ABI."""
    types = []
    for parameter in parameters.split(","):
        match = VARIABLE.match(parameter.strip())
        types.append(match[1].strip() if match else parameter.strip())
    return ", ".join(types)


def members(body):
    """Yields (name, declaration) for each member of a struct."""
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        if match := FUNCTION.match(declaration):
            yield match[2], (f"{match[1]} (*{match[2]})"
                             f"({without_parameter_names(match[3])})")
        elif match := VARIABLE.match(declaration):
            yield match[2], declaration
        else:
            raise RuntimeError(f"abi: cannot read the member \"{declaration}\"")


class Headers:
    """What the headers declare. In which of them, and in which order, is no part of
    the contract."""

    def __init__(self, folder):
        self.macros, self.constants, self.structs, self.others = [], [], [], []
        self.names = sorted(path.name for path in folder.glob("abi*.h"))
        for name in self.names:
            self._read((folder / name).read_text(encoding="utf-8"))

    def _read(self, text):
        text = COMMENT.sub(" ", text).replace("\\\n", " ")
        self.macros += [(name, value.strip()) for name, value in DEFINE.findall(text)]
        text = " ".join(DIRECTIVE.sub("", text).split())
        text = LINKAGE.sub(r"\1", text)
        for match in ENUM.finditer(text):
            self.constants += [value.split("=")[0].strip()
                               for value in match[1].split(",") if value.strip()]
        text = ENUM.sub("", text)
        for match in STRUCT.finditer(text):
            self.structs.append((match[1] or match[3],
                                 list(members(match[2] or match[4]))))
        text = STRUCT.sub("", text)
        self.others += [other.rstrip(";") for other in NAMED.findall(text)]
        if rest := NAMED.sub("", text).strip():
            raise RuntimeError(f"abi: cannot read the declaration \"{rest[:200]}\"")

    def program(self):
        """A C program that prints what the compiler makes of them."""
        out = [f"#include <actord/{name}>" for name in self.names]
        out += ["#include <stdio.h>", "int main(void) {"]
        out += [f'  printf("constant {name} %lld\\n", (long long){name});'
                for name in sorted(self.constants)]
        for name, fields in sorted(self.structs):
            out.append(f'  printf("struct {name}: %zu bytes, aligned to %zu\\n", '
                       f"sizeof({name}), _Alignof({name}));")
            for field, declaration in fields:
                out.append(
                    f'  printf("  at %zu, %zu bytes: %s\\n", '
                    f"offsetof({name}, {field}), sizeof((({name}*)0)->{field}), "
                    f'"{declaration}");')
        return "\n".join([*out, "  return 0;", "}", ""])


def run(source, include):
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise RuntimeError("abi: needs a C compiler, cc or clang")
    with tempfile.TemporaryDirectory(prefix="actord-abi-") as folder:
        path, program = Path(folder, "abi.c"), Path(folder, "abi")
        path.write_text(source, encoding="utf-8")
        built = subprocess.run(
            [compiler, "-std=c11", f"-I{include}", str(path), "-o", str(program)],
            capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise RuntimeError(f"abi: does not compile:\n{built.stderr}")
        return subprocess.run([str(program)], capture_output=True, text=True,
                              check=True).stdout


def lines(root):
    headers = Headers(root / INCLUDE / "actord")
    for name, value in sorted(headers.macros):
        yield f"macro {name} {value}"
    yield from sorted(headers.others)
    yield from run(headers.program(), root / INCLUDE).splitlines()
