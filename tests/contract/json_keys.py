"""Keys of what `actorctl -o json` and `-o jsonl` write, and of a line of the log.

Drives a daemon, so it needs the built programs and the modules of tests/e2e. An
object that is a message of the API is written as its name: its keys are the fields
of the wire contract. Every other key stands here with its path.
"""

import importlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pool
from harness import places
from harness.daemon import Daemon
from harness.waiting import WAIT_SECONDS, eventually

MESSAGES = ("actor_service", "backup", "client", "dead_letter", "name", "outcome", "payload", "plugin",
            "process", "status", "stream", "watch", "work", "yield")
for module in MESSAGES:
    importlib.import_module(f"actord.v1.{module}_pb2")
importlib.import_module("health.v1.health_pb2")
HEALTH = "grpc.health.v1.HealthCheckResponse"

# Messages that are not written field by field.
SCALARS = {"google.protobuf.Timestamp", "google.protobuf.Duration"}
PAYLOAD = {"content_type", "json", "text", "base64"}
# A live child, and a child that has ended and is no process.
TREE = {"children": [{"id": "lives", "type": "counter"},
                     {"id": "ended", "type": "echo", "restart": "transient"}]}

# A process that takes no messages for a minute.
DEAF = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 60_000})


def message(name):
    """Of the API, or of another package if its whole name is given."""
    return descriptor_pool.Default().FindMessageTypeByName(
        name if "." in name else f"actord.v1.{name}")


def differences(value, descriptor, path):
    """Yields `+ key` for a key that is no field of the message, and `- field` for a field
    that has to be there and is not."""
    if descriptor.full_name in SCALARS:
        return
    if descriptor.full_name == "actord.v1.Payload":
        yield from (f"+ {path}{key}" for key in value.keys() - PAYLOAD)
        return
    for key, part in value.items():
        field = descriptor.fields_by_name.get(key)
        if field is None:
            yield from keys(part, f"{path}{key}", {})
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue  # its keys are the user's
        elif field.message_type is not None:
            for each in part if isinstance(part, list) else [part]:
                yield from differences(each, field.message_type, f"{path}{key}.")
    for field in descriptor.fields:
        optional = field.containing_oneof is not None or (
            field.message_type is not None and field.label != field.LABEL_REPEATED)
        if not optional and field.name not in value:
            yield f"- {path}{field.name}"


def keys(value, path, shapes):
    """Yields a line for each key below `value`. `shapes` maps the paths at which
    messages of the API stand to their names."""
    if isinstance(value, list):
        yield f"+ {path}[]"
        for part in value:
            yield from keys(part, f"{path}[]", shapes)
        return
    if path:
        yield f"+ {path}" + (f": {shapes[path]}" if path in shapes else "")
    if not isinstance(value, dict):
        return
    if path in shapes:
        inner = f"{path}." if path else ""
        yield from differences(value, message(shapes[path]), inner)
        return
    for key, part in value.items():
        yield from keys(part, f"{path}.{key}" if path else key, shapes)


class Scenario:
    """Runs actorctl and notes the keys of what it writes."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.entries = []

    def run(self, *words, stdin="", statuses=(0,), **environment):
        done = subprocess.run(
            [str(places.ACTORCTL), *(str(word) for word in words)], input=stdin,
            capture_output=True, text=True, check=False, timeout=2 * WAIT_SECONDS,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address,
                                         **environment))
        if done.returncode not in statuses:
            raise RuntimeError(f"json: actorctl {words} ended with "
                               f"{done.returncode}: {done.stderr}")
        return done.stdout

    def note(self, title, values, shapes):
        """One entry for all `values`: their common shape and their other keys."""
        if isinstance(shapes, str):
            shapes = {"": shapes}
        root = shapes.get("")
        found = {line for value in values for line in keys(value, "", shapes)}
        if not values or not found and root is None:
            raise RuntimeError(f"json: {title} has written nothing")
        self.entries.append((title, root, found))

    def one(self, title, shapes, *words, **more):
        value = json.loads(self.run(*words, "-o", "json", **more))
        self.note(title, [value], shapes)
        return value

    def each(self, title, shapes, *words, **more):
        """A list, of which every item is noted."""
        values = json.loads(self.run(*words, "-o", "json", **more))
        self.note(title, values, shapes)
        return values

    def stream(self, title, shapes, *words, **more):
        text = self.run(*words, "-o", "jsonl", **more)
        self.note(title, [json.loads(line) for line in text.splitlines()], shapes)

    def lines(self):
        for title, root, found in self.entries:
            yield title + (f": {root}" if root else "")
            yield from (f"  {line}" for line in sorted(found))


def tree_rows(scenario):
    """Rows of processes, and rows of children that are down; None until there are
    both."""
    rows = json.loads(scenario.run("tree", "-o", "json"))
    down = [row for row in rows if "pid" not in row]
    return ([row for row in rows if "pid" in row], down) if down else None


def processes(scenario):
    one, each = scenario.one, scenario.each
    one("submit", "SubmitResponse", "submit", "echo", "{}")
    one("submit --wait", "Outcome", "submit", "echo", "{}", "--wait")
    scenario.stream("submit --from-file", {"outcome": "Outcome"}, "submit",
                    "--from-file", "-", "--wait", statuses=(1,),
                    stdin='{"type": "echo"}\n{"type": "none"}\n')
    one("health", HEALTH, "health")
    one("version", {}, "version")
    one("help", {}, "help")
    pid = one("submit --name", "SubmitResponse", "submit", "counter", "--name",
              "contract")["pid"]
    one("send", {}, "send", pid, "1", "--topic", "add")
    scenario.stream("send --from-file", {}, "send", "--from-file", "-",
                    statuses=(1,), stdin=f'{{"pid": "{pid}"}}\n{{"pid": "no"}}\n')
    one("call", "CallResponse", "call", pid, "--topic", "get")
    one("describe", "Process", "describe", pid)
    each("ps []", "Process", "ps")
    each("names []", "Name", "names")
    each("clients []", "Client", "clients")
    rows, down = eventually(lambda: tree_rows(scenario), "the boot tree")
    scenario.note("tree []", rows, "Process")
    scenario.note("tree [] of a child that is no process", down, {})
    each("cancel []", {}, "cancel", pid)
    other = scenario.run("submit", "probe", "--method", "idle").strip()
    each("terminate []", {}, "terminate", other)
    one("await", "Outcome", "await", pid)
    each("await []", "Outcome", "await", pid, other, statuses=(1,))


def letters_and_yields(scenario):
    one, each, run = scenario.one, scenario.each, scenario.run
    to = run("submit", "order", DEAF).strip()
    run("send", to, "1", "--topic", "late")
    run("terminate", to)
    letter = eventually(
        lambda: json.loads(run("dead-letters", "list", "-o", "json")),
        "a dead letter")[0]["id"]
    each("dead-letters list []", "DeadLetter", "dead-letters", "list")
    one("dead-letters show", "DeadLetter", "dead-letters", "show", letter)
    to = run("submit", "probe", "--method", "idle").strip()
    each("dead-letters resend []", {}, "dead-letters", "resend", letter, "--to", to)
    one("dead-letters drop", {}, "dead-letters", "drop", "--all")
    pay = '{"command": "payment.charge", "payload": "1"}'
    for _ in range(3):
        run("submit", "probe", pay, "--method", "yield")
    yields = each("yields []", "Yield", "yields")
    one("yields link", "CreateYieldLinkResponse", "yields", "link",
        yields[0]["token"])
    one("complete", "CompleteYieldResponse", "complete", yields[0]["token"], "1")
    scenario.stream("work", {}, "work", "payment.*", "--count", "1", "--exec", "cat")
    # A result that the daemon refuses.
    scenario.stream("work of a refused task", {}, "work", "payment.*", "--count",
                    "1", "--exec", "head -c 3000000 /dev/zero")


def watches(scenario):
    """Snapshot, starts, ends, and, on a log of few events, the missed ones."""
    command = [str(places.ACTORCTL), "watch", "-o", "jsonl", "--count"]
    environment = places.clean_environment(ACTORD_ADDRESS=scenario.daemon.address)
    watch = subprocess.Popen([*command, "4"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=environment)
    with watch:
        while watch.poll() is None:
            scenario.run("submit", "echo", "{}", "--wait")
        text, complaint = watch.stdout.read(), watch.stderr.read()
    scenario.run("submit", "--from-file", "-", stdin='{"type": "echo"}\n' * 20)
    token = re.search(r"--resume (\S+)", complaint)[1].strip("'\"")
    text += scenario.run("watch", "-o", "jsonl", "--count", "1", "--resume", token,
                         "--for", "30s")
    values = [json.loads(line) for line in text.splitlines()]
    for event, shape in (("LIVE", "Process"), ("STARTED", "ProcessStarted"),
                         ("ENDED", "ProcessEnded"),
                         ("MISSED", "MissedProcessEvents"), ("SNAPSHOT", {}),
                         ("SNAPSHOT_END", {})):
        scenario.note(f"watch {event}",
                      [value for value in values if value["event"] == event], shape)


def daemon_commands(scenario, plugins):
    one = scenario.one
    one("status", "GetStatusResponse", "status")
    # A counter answers calls of an unknown topic with an error.
    scenario.note("bench", [json.loads(scenario.run(
        "bench", *words, "--duration", "100ms", "-o", "json", statuses=(0, 1)))
        for words in (("send",), ("call", "--topic", "no"))], {})
    counters = {"counters": "Counters"}
    top = ("top", "--once", "--interval", "100ms")
    one("top --once", {**counters, "processes[]": "Process"}, *top)
    one("top --once --types", counters, *top, "--types")
    scenario.each("plugin list []", "PluginVersion", "plugin", "list")
    shutil.copyfile(places.TEST_PLUGINS / "versions_2.so", plugins / "versions_2.so")
    one("plugin load", "LoadPluginResponse", "plugin", "load", "versions_2.so",
        "--wait")
    one("shutdown", "ShutdownResponse", "shutdown", "--mode", "now")


def tokens(scenario, file):
    one, each = scenario.one, scenario.each
    token = one("token new", {}, "token", "new", "--file", file, "--name", "app",
                "--role", "admin", "--expires", "1h")
    each("token list []", {}, "token", "list", "--file", file)
    home = {"XDG_CONFIG_HOME": str(file.parent)}
    scenario.run("context", "add", "here", "--address", "unix:/s", "--use", **home)
    each("context list []", {}, "context", "list", **home)
    one("context show", {}, "context", "show", **home)
    one("token revoke", {}, "token", "revoke", "--file", file, token["id"])


def store_commands(scenario, folder):
    store = Path(folder, "store")
    daemon = Daemon(Path(folder, "stored"), (
        "--plugin-dir", places.PLUGINS, "--store", store))
    try:
        scenario.run("--address", daemon.address, "submit", "counter")
        scenario.one("backup", {}, "--address", daemon.address, "backup",
                     Path(folder, "backup"))
    finally:
        daemon.stop()
    scenario.one("store verify", {}, "store", "verify", store)
    scenario.one("store stat", {}, "store", "stat", store)
    scenario.each("plugin check []", {}, "plugin", "check",
                  places.PLUGINS / "counter.so", "--store", store)


def lines():
    with tempfile.TemporaryDirectory(prefix="actord-contract-") as folder:
        plugins = Path(folder, "plugins")
        plugins.mkdir()
        for source in ("versions_1.so", "probe.so"):
            shutil.copyfile(places.TEST_PLUGINS / source, plugins / source)
        tree = Path(folder, "tree.json")
        tree.write_text(json.dumps(TREE), encoding="utf-8")
        daemon = Daemon(folder, (
            "--plugin-dir", places.PLUGINS, "--plugin-dir", plugins, "--boot-tree",
            tree, "--external", "payment.*", "--watch-max-events", "8",
            "--admin-listen", "127.0.0.1:0", "--admin-api", "--admin-link-key",
            Path(folder, "link.key"), "--log-format", "json", "--log-level", "debug"))
        try:
            scenario = Scenario(daemon)
            processes(scenario)
            letters_and_yields(scenario)
            watches(scenario)
            tokens(scenario, Path(folder, "tokens.toml"))
            daemon_commands(scenario, plugins)
        finally:
            daemon.stop()
        Path(folder, "stored").mkdir()
        store_commands(scenario, folder)
        # A line has few of the fields, and some need faults of all kinds.
        fields = re.findall(r'Append(?:Field|Number)\("(\w+)"', (
            places.SOURCE / "daemon/log/log_format.cc").read_text(encoding="utf-8"))
        scenario.note("a line of the log", [dict.fromkeys(fields, "")] + [
            json.loads(line) for line in daemon.log().splitlines()], {})
    for line in scenario.lines():
        yield line if line.startswith(" ") or line.startswith("a ") \
            else f"actorctl {line}"
