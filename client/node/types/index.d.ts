// A client of actord, an actor-runtime daemon.
//
// It works with any daemon of the API actord.v1: calls, fields and values that a
// daemon does not have yet are UNIMPLEMENTED, ignored or UNSPECIFIED. Wrong arguments
// throw TypeError; a refusal by the daemon or gRPC rejects with an ActordError.

export * from './client.js';
export * from './errors.js';
export * from './streams.js';
export * from './values.js';
export * from './worker.js';
