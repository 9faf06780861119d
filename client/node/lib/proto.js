// The API actord.v1 and the details of its errors, loaded from the .proto files of
// the package.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const PROTO = fileURLToPath(new URL('../proto', import.meta.url));

/** @returns {Record<string, any>} */
function load() {
  if (!existsSync(`${PROTO}/actord/v1/actor_service.proto`)) {
    throw new Error(`there are no .proto files in ${PROTO}: use the package that `
      + 'the build of actord makes, such as share/actord/node/actord.tgz');
  }
  return loader.loadSync([
    'actord/v1/actor_service.proto',
    'google/rpc/status.proto',
    'google/rpc/error_details.proto',
  ], {
    includeDirs: [PROTO], enums: String, longs: Number, defaults: true, oneofs: true,
  });
}

const definition = load();
const loaded = /** @type {any} */ (grpc.loadPackageDefinition(definition));

/** The class of the stubs. A stub has a method for each call of the API. */
export const ActorService = loaded.actord.v1.ActorService;

/**
 * Decodes a message such as google.rpc.Status.
 * @param {string} name @param {Uint8Array} bytes @returns {any}
 */
export function decode(name, bytes) {
  return definition[name].deserialize(Buffer.from(bytes));
}
