// Calls each unary method with a client of Connect.
//
//   node each_method.mjs BASE_URL DESCRIPTOR_SET TOKENS_BY_ROLE < CALLS
//
// CALLS is a JSON list of [method, request, role]. Prints a JSON list of [method,
// code, reason of a refusal].
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary, fromJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";

const [baseUrl, set, tokens] = process.argv.slice(2);
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(set)));
const service = registry.getService("actord.v1.ActorService");
const tokenOf = JSON.parse(tokens);
const client = createClient(service, createConnectTransport({
  baseUrl, httpVersion: "1.1", useBinaryFormat: false,
}));
const methods = new Map(service.methods.map((one) => [one.name, one]));
const snake = (name) => name.replace(/(?<!^)[A-Z]/g, "_$&").toLowerCase();

const answers = [];
for (const [name, request, role] of JSON.parse(readFileSync(0, "utf8"))) {
  const { input, localName } = methods.get(name);
  try {
    await client[localName](fromJson(input, request, { registry }),
      { headers: { Authorization: `Bearer ${tokenOf[role]}` } });
    answers.push([name, "ok", ""]);
  } catch (error) {
    const from = ConnectError.from(error);
    const [info] = from.findDetails(registry.getMessage("google.rpc.ErrorInfo"));
    answers.push([name, snake(Code[from.code]), info?.reason ?? ""]);
  }
}
console.log(JSON.stringify(answers));
