"""A client of the JSON API, and the check of an answer against its description."""

import base64
import http.client
import json

from actord.v1 import actor_service_pb2
from admin.pages import UnixConnection
from google.protobuf import descriptor_pb2
from harness.waiting import WAIT_SECONDS

SERVICE = actor_service_pb2.DESCRIPTOR.services_by_name["ActorService"]
PREFIX = f"/{SERVICE.full_name}/"


METHODS = descriptor_pb2.FileDescriptorProto.FromString(
    actor_service_pb2.DESCRIPTOR.serialized_pb).service[0].method
STREAMS = [method.name for method in METHODS
           if method.client_streaming or method.server_streaming]
UNARY = [method.name for method in METHODS if method.name not in STREAMS]


def payload(data, content_type=None):
    value = {"data": base64.b64encode(data).decode()}
    return value | ({"contentType": content_type} if content_type else {})


def data_of(value):
    return base64.b64decode(value.get("data", ""))


class Answer:

    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text
        self.json = json.loads(text) if text else None

    def detail(self, name):
        """The detail google.rpc.<name> of an error; {}: there is none."""
        return next((one["debug"] for one in self.json.get("details", ())
                     if one["type"] == f"google.rpc.{name}"), {})

    @property
    def refusal(self):
        return (self.status, self.json["code"],
                self.detail("ErrorInfo").get("reason", ""))

    def __repr__(self):
        return f"{self.status} {self.text}"


class Api:
    """`where`: a port of loopback, or the path of a Unix socket."""

    def __init__(self, where, token=None):
        self.where, self.token = where, token

    def connection(self):
        if isinstance(self.where, int):
            return http.client.HTTPConnection("127.0.0.1", self.where,
                                              timeout=WAIT_SECONDS)
        return UnixConnection(self.where)

    def headers(self, more=None):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers | (more or {})

    def begin(self, method, request=None, headers=None):
        """Sends the request, and returns the connection for Api.end."""
        connection = self.connection()
        connection.request("POST", PREFIX + method, json.dumps(request or {}),
                           self.headers(headers))
        return connection

    @staticmethod
    def end(connection):
        try:
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def call(self, method, request=None, headers=None):
        return self.end(self.begin(method, request, headers))

    def raw(self, path, body=b"", method="POST", headers=None):
        connection = self.connection()
        connection.request(method, path, body, headers or {})
        return self.end(connection)


class Description:
    """The answer to /openapi.json."""

    def __init__(self, document):
        self.document = document

    def resolve(self, reference):
        value = self.document
        assert reference.startswith("#/"), reference
        for word in reference[2:].split("/"):
            value = value[word]
        return value

    def references(self, value=None):
        value = self.document if value is None else value
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                if isinstance(one, (dict, list)):
                    yield from self.references(one)

    def schema(self, method, part):
        operation = self.document["paths"][PREFIX + method]["post"]
        holder = (operation["requestBody"] if part == "request"
                  else operation["responses"]["200"])
        return holder["content"]["application/json"]["schema"]

    def problems(self, value, schema, where="answer"):
        """What of `value` is not as described. Only the keywords that the
        description uses."""
        if "$ref" in schema:
            yield from self.problems(value, self.resolve(schema["$ref"]), where)
            return
        kinds = schema["type"] if isinstance(schema["type"], list) else [
            schema["type"]]
        kind = {dict: "object", list: "array", str: "string", bool: "boolean",
                int: "integer", float: "number"}[type(value)]
        if kind not in kinds and not (kind == "integer" and "number" in kinds):
            yield f"{where} is of type {kind}, and not {kinds}"
        elif kind == "object" and len(schema) > 1:
            fields = schema.get("properties", {})
            for name, one in value.items():
                known = fields.get(name, schema.get("additionalProperties"))
                if known is None:
                    yield f"{where}.{name} is not described"
                else:
                    yield from self.problems(one, known, f"{where}.{name}")
        elif kind == "array":
            for number, one in enumerate(value):
                yield from self.problems(one, schema["items"],
                                         f"{where}[{number}]")
        elif "enum" in schema and value not in schema["enum"]:
            yield f"{where} is {value}, and not one of {schema['enum']}"
