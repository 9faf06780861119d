// A client of actord, an actor-runtime daemon.
//
// It is tested with the oldest daemon of the API actord.v1, that of commit 0684afd, and
// with the daemon of its own commit. A call that a daemon does not have rejects with
// DaemonTooOld, and so do durability, labels and the deadline of a cancel with a daemon
// that ignores them. docs/clients.md, "Which daemons", has what else an older daemon
// ignores. Wrong arguments throw TypeError; a refusal by the daemon or gRPC rejects with
// an ActordError.

export * from './client.js';
export * from './errors.js';
export * from './streams.js';
export * from './values.js';
export * from './worker.js';
