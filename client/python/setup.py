"""Builds the package from the checkout, with the stubs of ../../proto/actord/v1.

  pip install ./client/python
  python3 client/python/setup.py --package DIRECTORY

The second line makes DIRECTORY/actord without pip, for a PYTHONPATH. The stubs are
made with grpc_tools if it is installed, and otherwise with protoc and
grpc_python_plugin, as in Debian's protobuf-compiler-grpc.
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"


def generate(directory):
    """Generates the stubs into `directory`/actord."""
    directory = pathlib.Path(directory).resolve()
    (directory / "actord" / "v1").mkdir(parents=True, exist_ok=True)
    (directory / "actord" / "v1" / "__init__.py").write_text(
        '"""The messages of the API of actord, generated."""\n', encoding="utf-8")
    protos = sorted((PROTO / "actord" / "v1").glob("*.proto"))
    if not protos:
        raise SystemExit(f"there are no .proto files in {PROTO}: build the package "
                         "in a checkout of actord")
    compiler, plugin = find_compiler()
    outputs = [f"--python_out={directory}", f"--pyi_out={directory}"]
    services = [*outputs, f"--grpc_python_out={directory}", *plugin]
    service = PROTO / "actord" / "v1" / "actor_service.proto"
    run(compiler, PROTO, services, [service])
    run(compiler, PROTO, outputs, [path for path in protos if path != service])
    run(compiler, HERE, outputs, [HERE / "actord" / "error_details.proto"])


def find_compiler():
    """The command of the compiler, and its option for the plugin."""
    if importlib.util.find_spec("grpc_tools"):
        import grpc_tools
        include = pathlib.Path(grpc_tools.__file__).parent / "_proto"
        return [sys.executable, "-m", "grpc_tools.protoc", f"-I{include}"], []
    protoc, plugin = shutil.which("protoc"), shutil.which("grpc_python_plugin")
    if not protoc or not plugin:
        raise SystemExit("the stubs need grpc_tools, or protoc and "
                         "grpc_python_plugin: apt-get install "
                         "protobuf-compiler-grpc")
    return [protoc], [f"--plugin=protoc-gen-grpc_python={plugin}"]


def run(compiler, root, outputs, protos):
    subprocess.run([*compiler, f"-I{root}", *outputs, *map(str, protos)],
                   check=True)


def make_package(directory):
    """Makes `directory`/actord, whole."""
    target = pathlib.Path(directory) / "actord"
    shutil.copytree(HERE / "actord", target, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__", "*.proto"))
    generate(directory)


def main():
    if sys.argv[1:2] == ["--package"] and len(sys.argv) == 3:
        make_package(sys.argv[2])
        return
    import setuptools
    from setuptools.command.build_py import build_py

    class BuildWithStubs(build_py):

        def run(self):
            if self.editable_mode:
                raise SystemExit("an editable install has no stubs; use "
                                 "setup.py --package and PYTHONPATH")
            super().run()
            generate(self.build_lib)

    setuptools.setup(cmdclass={"build_py": BuildWithStubs})


# setuptools runs this file under the name __main__, too.
if __name__ == "__main__":
    main()
