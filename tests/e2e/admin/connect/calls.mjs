// Calls the JSON API with the clients of Connect, which know the service from
// its descriptors alone.
//
//   node calls.mjs BASE_URL DESCRIPTOR_SET TOKEN
//
// Prints a JSON object with what each call has brought.
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";

const [baseUrl, set, token] = process.argv.slice(2);
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(set)));
const present = (next) => (request) => {
  request.header.set("Authorization", `Bearer ${token}`);
  return next(request);
};
const service = registry.getService("actord.v1.ActorService");
const client = (interceptors) => createClient(service, createConnectTransport({
  baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors,
}));
const text = (payload) => new TextDecoder().decode(payload.data);
const bytes = (value) => ({ data: new TextEncoder().encode(value) });

async function errorOf(call) {
  try {
    await call;
    return "no error";
  } catch (error) {
    const from = ConnectError.from(error);
    const info = registry.getMessage("google.rpc.ErrorInfo");
    return {
      code: Code[from.code],
      reasons: from.findDetails(info).map((detail) => detail.reason),
    };
  }
}

const actor = client([present]);
const { pid } = await actor.submit({ processType: "echo", input: bytes('"x"') });
const { outcome } = await actor.await({ pid });
const counter = await actor.submit({
  processType: "counter",
  input: bytes("1"),
});
const status = await actor.getStatus({});
console.log(JSON.stringify({
  result: text(outcome.end.value),
  started: String(status.counters.processesStartedTotal),
  unknown: await errorOf(actor.getProcess({ pid: "nobody" })),
  deadline: await errorOf(actor.await({ pid: counter.pid }, { timeoutMs: 50 })),
  canceled: await errorOf(actor.await(
    { pid: counter.pid }, { signal: AbortSignal.timeout(50) })),
  tokenless: await errorOf(client([]).getStatus({})),
}));
