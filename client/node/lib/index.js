// A client of actord, an actor-runtime daemon.
//
//   import { Client } from 'actord';
//
//   const client = new Client();
//   console.log((await client.run('echo', 'hello', { timeoutMs: 10_000 })).text);
//
// Client drives processes, Worker carries out external commands. types/index.d.ts
// describes both.

export { Client } from './client.js';
export {
  ActordError, AlreadyExists, CallFailed, CalleeEnded, DaemonTooOld,
  DeadlineExceeded, FailedPrecondition, InitRefused, InvalidArgument, ItemsRefused,
  MailboxFull,
  NameNotFound, NameTaken, NotDurable, NotFound, Overloaded, PayloadTooLarge,
  PermissionDenied, ProcessEnded, ProcessFailed, ProcessNotFound, ProcessQuarantined,
  QuotaExceeded, RequestIdReused, ResultNotKept, Unauthenticated, Unavailable,
  UnknownMethod, UnknownProcessType,
} from './errors.js';
export { SendStream } from './send_stream.js';
export { Subscription } from './subscription.js';
export { Refuse, Retry } from './task_errors.js';
export { Task } from './tasks.js';
export { Outcome, Payload, Reply, Submitted } from './values.js';
export { Watch } from './watch.js';
export { Worker } from './worker.js';
