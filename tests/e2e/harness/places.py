"""Where the build has put things. CTest sets the variables."""

import os
import pathlib


def _directory(variable):
    path = os.environ.get(variable)
    if not path:
        raise RuntimeError(f"{variable} is not set; run these tests with ctest")
    return pathlib.Path(path)


ACTORD = _directory("ACTORD_E2E_BIN_DIR") / "actord"
ACTORCTL = _directory("ACTORD_E2E_BIN_DIR") / "actorctl"
PLUGINS = _directory("ACTORD_E2E_PLUGIN_DIR")
TEST_PLUGINS = _directory("ACTORD_E2E_TEST_PLUGIN_DIR")
PROBE = TEST_PLUGINS / "probe.so"
CRASHER = TEST_PLUGINS / "crasher.so"
# For the daemons' copies of plugins.
CACHE = _directory("ACTORD_E2E_BIN_DIR").parent / "test_cache"
SOURCE = _directory("ACTORD_E2E_SOURCE_DIR")


def clean_environment(**more):
    """This process's environment without any setting of the daemon or client, and
    without the contexts of actorctl."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("ACTORD_")}
    kept["XDG_CONFIG_HOME"] = "/nonexistent"
    kept.update(more)
    return kept
