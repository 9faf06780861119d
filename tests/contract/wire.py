"""The wire contract: every service, message and enum below proto/, as text.

Needs protoc and Python's protobuf, and no build. Declarations are sorted by number
or name, so that their order in a file and their comments are no part of the text.
"""

import subprocess

from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {number: name.removeprefix("TYPE_").lower()
           for name, number in FIELD.Type.items()}


def descriptors(proto_root):
    """The descriptors of all .proto files below `proto_root`, sorted by path. What
    the daemon says to a collector of traces is OpenTelemetry's contract."""
    paths = sorted(path.relative_to(proto_root).as_posix()
                   for path in proto_root.rglob("*.proto")
                   if path.parent.name != "otlp")
    done = subprocess.run(
        ["protoc", "-I", str(proto_root), "--descriptor_set_out=/dev/stdout",
         *paths], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"protoc failed:\n{done.stderr.decode()}")
    files = descriptor_pb2.FileDescriptorSet.FromString(done.stdout).file
    return sorted(files, key=lambda file: file.name)


def deprecated(options):
    return " deprecated" if options.deprecated else ""


def field_line(field, oneofs):
    """One field: number, label, type, name, and the oneof that it is in."""
    kind = field.type_name.removeprefix(".") or SCALARS[field.type]
    label = ""
    if field.label == FIELD.LABEL_REPEATED:
        label = "repeated "
    elif field.proto3_optional:
        label = "optional "
    elif field.HasField("oneof_index"):
        label = f"oneof {oneofs[field.oneof_index].name} "
    return f"  {field.number} {label}{kind} {field.name}{deprecated(field.options)}"


def reserved_lines(message, last):
    """`last` is by how much the end of a range lies behind its last number."""
    for span in sorted(message.reserved_range, key=lambda span: span.start):
        end = span.end - last
        numbers = str(span.start) if end == span.start else f"{span.start} to {end}"
        yield f"  reserved {numbers}"
    for name in sorted(message.reserved_name):
        yield f"  reserved \"{name}\""


def enum_lines(enum, scope):
    yield f"enum {scope}.{enum.name}{deprecated(enum.options)}"
    for value in sorted(enum.value, key=lambda value: value.number):
        yield f"  {value.number} {value.name}{deprecated(value.options)}"
    yield from reserved_lines(enum, 0)


def message_lines(message, scope):
    name = f"{scope}.{message.name}"
    yield f"message {name}{deprecated(message.options)}"
    for field in sorted(message.field, key=lambda field: field.number):
        yield field_line(field, message.oneof_decl)
    yield from reserved_lines(message, 1)
    for enum in sorted(message.enum_type, key=lambda enum: enum.name):
        yield from enum_lines(enum, name)
    for nested in sorted(message.nested_type, key=lambda nested: nested.name):
        yield from message_lines(nested, name)


def service_lines(service, scope):
    yield f"service {scope}.{service.name}"
    for method in sorted(service.method, key=lambda method: method.name):
        takes = "stream " * method.client_streaming + method.input_type[1:]
        gives = "stream " * method.server_streaming + method.output_type[1:]
        yield (f"  rpc {method.name}({takes}) returns ({gives})"
               f"{deprecated(method.options)}")


def lines(root):
    return lines_of(root / "proto")


def lines_of(proto_root):
    for file in descriptors(proto_root):
        yield f"file {file.name}"
        for service in sorted(file.service, key=lambda service: service.name):
            yield from service_lines(service, file.package)
        for enum in sorted(file.enum_type, key=lambda enum: enum.name):
            yield from enum_lines(enum, file.package)
        for message in sorted(file.message_type, key=lambda each: each.name):
            yield from message_lines(message, file.package)
        yield ""


def parts(proto_root):
    """Each service, message and enumeration below `proto_root` as (name, ""), and each
    of its methods, fields, values and reservations as (name, line)."""
    owner = ""
    for line in lines_of(proto_root):
        line = line.removesuffix(" deprecated")
        if line.startswith("  "):
            yield owner, line.strip()
        elif line and not line.startswith("file "):
            owner = line
            yield owner, ""
