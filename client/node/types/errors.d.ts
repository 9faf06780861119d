// The errors of actord.

import type { Refused } from './streams.js';
import type { Failure, Outcome, StatusCode } from './values.js';

/** A call or an item of a stream failed. Decide by class, code and reason; messages
 * are for people and may change. */
export class ActordError extends Error {
  constructor(message: string, facts?: {
    code?: StatusCode; reason?: string; metadata?: Record<string, string>;
    retryDelayMs?: number | null; fields?: Record<string, string>;
  });
  code: StatusCode;
  /** The stable reason, such as "MAILBOX_FULL"; "" if the error is from gRPC. */
  reason: string;
  /** Facts that belong to the reason. */
  metadata: Record<string, string>;
  /** The daemon has done nothing; the same call may succeed after this delay. Null: the
   * daemon has not said so. */
  retryDelayMs: number | null;
  /** The mistakes, by the path of the field in the request. */
  fields: Record<string, string>;
  /** The process that `run` had started before the error, or the process that the
   * error names; "" if there is none. */
  pid: string;
}

export class InvalidArgument extends ActordError {}
/** The process's Init has refused the input. `code` is the process's own. */
export class InitRefused extends InvalidArgument {}
export class PayloadTooLarge extends InvalidArgument {}
/** The id belongs to a request with another body. */
export class RequestIdReused extends InvalidArgument {}
export class NotFound extends ActordError {}
export class ProcessNotFound extends NotFound {}
export class NameNotFound extends NotFound {}
export class UnknownProcessType extends NotFound {}
export class UnknownMethod extends NotFound {}
export class Unauthenticated extends ActordError {}
export class PermissionDenied extends ActordError {}
export class AlreadyExists extends ActordError {}
/** Another process holds the name: `pid`. */
export class NameTaken extends AlreadyExists {}
export class FailedPrecondition extends ActordError {}
export class ProcessEnded extends FailedPrecondition {}
export class ProcessQuarantined extends FailedPrecondition {}
export class ResultNotKept extends FailedPrecondition {}
/** Only a durable process can do this. */
export class NotDurable extends FailedPrecondition {}
/** The process that was called, `pid`, has ended without an answer. */
export class CalleeEnded extends ActordError {}
/** The process has answered the call with this error. `code` is its own. */
export class CallFailed extends ActordError {}
/** A limit is reached. See `retryDelayMs`. */
export class Overloaded extends ActordError {}
export class MailboxFull extends Overloaded {}
/** This client is above a quota: `metadata` has "quota" and "limit". */
export class QuotaExceeded extends Overloaded {}
/** There is no connection to the daemon, or it starts, drains or has stopped. */
export class Unavailable extends ActordError {}
/** The timeout of the call has passed. The call may still have its effect. */
export class DeadlineExceeded extends ActordError {}
/** The daemon does not have this call, or it has ignored a part of the request, which
 * the message names. `pid` is the process that `submit` or `run` has started
 * nevertheless. */
export class DaemonTooOld extends ActordError {}

/** The awaited process has ended with a failure. `code` and `message` are the
 * failure's; `reason` is its FailureReason. */
export class ProcessFailed extends ActordError {
  constructor(outcome: Outcome, failure: Failure);
  readonly failure: Failure;
  readonly outcome: Outcome;
}

/** The daemon has refused some items of a stream; the others are delivered. */
export class ItemsRefused extends ActordError {
  constructor(refusals: Refused[]);
  readonly refusals: Refused[];
}
