// The errors of actord as classes. Decide by class, `code` and `reason`. Messages are
// for people and may change. docs/api.md of actord lists all reasons.

import grpc from '@grpc/grpc-js';

import { shown } from './options.js';
import { decode } from './proto.js';
import { ANSWERS_HTTP2 } from './unreached.js';

/**
 * @typedef {import('../types/index.js').StatusCode} StatusCode
 * @typedef {import('../types/index.js').ErrorCode} ErrorCode
 * @typedef {import('../types/index.js').Failure} Failure
 * @typedef {import('../types/index.js').Outcome} Outcome
 * @typedef {import('../types/index.js').Refused} Refused
 *
 * @typedef {object} Facts
 * @property {StatusCode} [code]
 * @property {string} [reason]
 * @property {Record<string, string>} [metadata]
 * @property {number | null} [retryDelayMs]
 * @property {Record<string, string>} [fields]
 */

const DETAILS = 'grpc-status-details-bin';
const NOT_ANSWERED = 'the timeout has passed, and the daemon has not answered';
// What gRPC of a daemon says. The daemon itself has not seen the request.
const TOO_LONG = /Received message larger than max \((\d+) vs\.? (\d+)\)/;

/**
 * The name of a code of google.rpc.Code; UNKNOWN for another number.
 * @param {number} number @returns {StatusCode}
 */
export function statusCode(number) {
  return /** @type {StatusCode} */ (grpc.status[number] ?? 'UNKNOWN');
}

/**
 * The code of an error. Throws TypeError, which lists the codes, for OK and for what is
 * no code.
 * @param {unknown} given its name or its number @returns {ErrorCode}
 */
export function errorCode(given) {
  const status = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (
    grpc.status));
  const name = typeof given === 'number' ? String(status[given])
    : typeof given === 'string' ? given.toUpperCase() : '';
  if (typeof status[name] !== 'number' || name === 'OK') {
    const names = Object.keys(status).filter(
      (known) => typeof status[known] === 'number' && known !== 'OK');
    throw new TypeError(`${shown(given)} is not the code of an error: give its name or `
      + `its number: ${names.join(', ')}`);
  }
  return /** @type {ErrorCode} */ (name);
}

/** @param {unknown} given the code of an error @returns {number} */
export function errorNumber(given) {
  return grpc.status[errorCode(given)];
}

export class ActordError extends Error {
  /** @param {string} message @param {Facts} [facts] */
  constructor(message, facts = {}) {
    super(message);
    this.name = new.target.name;
    /** @type {StatusCode} */
    this.code = facts.code ?? 'UNKNOWN';
    this.reason = facts.reason ?? '';
    this.metadata = facts.metadata ?? {};
    this.retryDelayMs = facts.retryDelayMs ?? null;
    this.fields = facts.fields ?? {};
    this.pid = this.metadata.pid ?? '';
  }

  toString() {
    return `${this.reason || this.code}: ${this.message}`;
  }
}

export class InvalidArgument extends ActordError {}
export class InitRefused extends InvalidArgument {}
export class PayloadTooLarge extends InvalidArgument {}
export class RequestIdReused extends InvalidArgument {}
export class NotFound extends ActordError {}
export class ProcessNotFound extends NotFound {}
export class NameNotFound extends NotFound {}
export class UnknownProcessType extends NotFound {}
export class UnknownMethod extends NotFound {}
export class Unauthenticated extends ActordError {}
export class PermissionDenied extends ActordError {}
export class AlreadyExists extends ActordError {}
export class NameTaken extends AlreadyExists {}
export class FailedPrecondition extends ActordError {}
export class ProcessEnded extends FailedPrecondition {}
export class ProcessQuarantined extends FailedPrecondition {}
export class ResultNotKept extends FailedPrecondition {}
export class NotDurable extends FailedPrecondition {}
export class CalleeEnded extends ActordError {}
export class CallFailed extends ActordError {}
export class Overloaded extends ActordError {}
export class MailboxFull extends Overloaded {}
export class QuotaExceeded extends Overloaded {}
export class Unavailable extends ActordError {}
export class DeadlineExceeded extends ActordError {}
export class DaemonTooOld extends ActordError {}

export class ProcessFailed extends ActordError {
  /** @param {Outcome} outcome @param {Failure} failure */
  constructor(outcome, failure) {
    super(failure.message, { code: failure.code, reason: failure.reason });
    this.failure = failure;
    this.outcome = outcome;
    this.pid = outcome.pid;
  }
}

export class ItemsRefused extends ActordError {
  /** @param {Refused[]} refusals */
  constructor(refusals) {
    const [{ index, error }] = refusals;
    super(`${refusals.length} items are refused; item ${index}: ${error.message}`,
      { code: error.code, reason: error.reason });
    this.refusals = refusals;
  }
}

/** @type {Record<string, typeof ActordError>} */
const BY_REASON = {
  INIT_REFUSED: InitRefused,
  PAYLOAD_TOO_LARGE: PayloadTooLarge,
  REQUEST_ID_REUSED: RequestIdReused,
  PROCESS_NOT_FOUND: ProcessNotFound,
  NAME_NOT_FOUND: NameNotFound,
  UNKNOWN_PROCESS_TYPE: UnknownProcessType,
  UNKNOWN_METHOD: UnknownMethod,
  NAME_TAKEN: NameTaken,
  PROCESS_ENDED: ProcessEnded,
  PROCESS_QUARANTINED: ProcessQuarantined,
  RESULT_NOT_KEPT: ResultNotKept,
  NOT_DURABLE: NotDurable,
  NOT_DURABLE_TYPE: NotDurable,
  DURABILITY_OFF: NotDurable,
  CALLEE_ENDED: CalleeEnded,
  CALL_FAILED: CallFailed,
  MAILBOX_FULL: MailboxFull,
  CLIENT_QUOTA: QuotaExceeded,
};
/** @type {Partial<Record<StatusCode, typeof ActordError>>} */
const BY_CODE = {
  INVALID_ARGUMENT: InvalidArgument,
  NOT_FOUND: NotFound,
  UNAUTHENTICATED: Unauthenticated,
  PERMISSION_DENIED: PermissionDenied,
  ALREADY_EXISTS: AlreadyExists,
  FAILED_PRECONDITION: FailedPrecondition,
  RESOURCE_EXHAUSTED: Overloaded,
  UNAVAILABLE: Unavailable,
  UNIMPLEMENTED: DaemonTooOld,
  DEADLINE_EXCEEDED: DeadlineExceeded,
};

/**
 * The error of the class for this reason or code.
 * @param {string} message @param {StatusCode} code @param {Facts} [facts]
 */
export function makeError(message, code, facts = {}) {
  const known = Object.hasOwn(BY_REASON, facts.reason ?? '')
    ? BY_REASON[facts.reason ?? ''] : BY_CODE[code];
  const text = known === DaemonTooOld && !message // the message of gRPC in C++
    ? 'the daemon does not have this call: it is older than this package'
    : facts.reason === 'TOKEN_MISSING'
      ? `${message}; give tokenFile or set ACTORD_TOKEN_FILE` : message;
  return new (known ?? ActordError)(text, { ...facts, code });
}

/**
 * The error for a part of a request that the daemon does not know.
 * @param {string} what @param {string} consequence
 */
export function ignored(what, consequence, pid = '') {
  return new DaemonTooOld(`the daemon is too old for ${what} and has ignored it: `
    + consequence, { code: 'UNIMPLEMENTED', metadata: pid ? { pid } : {} });
}

/**
 * The ActordError for the ServiceError of a call. Any other error is returned
 * unchanged.
 * @param {any} error
 * @param {(message: string) => string} explain of the endpoint, for UNAVAILABLE
 * @param {string} [pid] of a process that the call has started
 */
export function errorOfRpc(error, explain, pid = '') {
  if (error instanceof ActordError || typeof error?.code !== 'number'
      || typeof error.details !== 'string') return error;
  const [packed] = error.metadata?.get(DETAILS) ?? [];
  const code = statusCode(error.code);
  if (ANSWERS_HTTP2.test(error.details)) {
    const known = code === 'UNIMPLEMENTED' ? ActordError : BY_CODE[code]; // 404
    return new (known ?? ActordError)(explain(error.details), { code });
  }
  const message = code === 'UNAVAILABLE' ? explain(error.details)
    // By the client or by the daemon's gRPC, which write it differently.
    : code === 'DEADLINE_EXCEEDED' && !packed && /^deadline exceeded/i.test(error.details)
      ? NOT_ANSWERED : error.details;
  const sizes = TOO_LONG.exec(message);
  if (sizes && !(packed instanceof Uint8Array)) {
    return tooLarge(Number(sizes[1]), Number(sizes[2]));
  }
  const made = makeError(message, code,
    packed instanceof Uint8Array ? detailsOf(packed) : {});
  made.pid ||= pid;
  return made;
}

/**
 * The error for a request of `bytes` to a daemon that takes `most`.
 * @param {number} bytes @param {number} most
 */
export function tooLarge(bytes, most) {
  return new PayloadTooLarge(`the request has ${bytes} bytes; the daemon takes at most `
    + 'limits.max_payload_bytes (1 MiB unless configured) in a payload, and '
    + `${most} bytes in a request`, {
    code: 'INVALID_ARGUMENT', reason: 'PAYLOAD_TOO_LARGE',
    metadata: { max_request_bytes: String(most) },
  });
}

/**
 * Rejects as the promise does, but with this text if the daemon has not answered in
 * time.
 * @template T
 * @param {Promise<T>} promise @param {string} text @returns {Promise<T>}
 */
export async function timeoutSays(promise, text) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof DeadlineExceeded && error.message === NOT_ANSWERED) {
      error.message = text;
    }
    throw error;
  }
}

/**
 * Whether the daemon is older than the method of the call.
 * @param {any} error
 */
export function isUnknownMethod(error) {
  return error instanceof ActordError && error.code === 'UNIMPLEMENTED' && !error.reason;
}

/**
 * The error that ended the wait of `run`, with the process that goes on.
 * @param {any} error
 * @param {string} [pid] by default that of the error; '': it is not known
 */
export function explainRunning(error, pid = error?.pid ?? '') {
  if (!(error instanceof ActordError)) return error;
  error.pid = pid;
  if (pid && error instanceof DeadlineExceeded) {
    error.message = `the timeout has passed; process ${pid} goes on, and `
      + `awaitOutcome('${pid}') waits for its end`;
  }
  return error;
}

/**
 * The ActordError for a Refusal of a stream or a TaskRefusal.
 * @param {any} refusal
 */
export function errorOfRefusal(refusal) {
  return makeError(refusal.message, statusCode(refusal.code), {
    reason: refusal.reason,
    metadata: refusal.pid ? { pid: refusal.pid } : {},
    fields: refusal.field ? { [refusal.field]: refusal.message } : {},
    retryDelayMs: refusal.retryDelay ? millisecondsOf(refusal.retryDelay) : null,
  });
}

/** @param {{seconds: number, nanos: number}} duration */
export function millisecondsOf(duration) {
  return duration.seconds * 1000 + duration.nanos / 1e6;
}

/**
 * The reason and the further facts of a google.rpc.Status.
 * @param {Uint8Array} packed @returns {Facts}
 */
function detailsOf(packed) {
  /** @type {Facts} */
  const facts = {};
  for (const detail of decode('google.rpc.Status', packed).details) {
    const url = detail.typeUrl ?? detail.type_url;
    const name = url.slice(url.lastIndexOf('/') + 1);
    if (name === 'google.rpc.ErrorInfo') {
      const info = decode(name, detail.value);
      if (info.domain === 'actord') {
        facts.reason = info.reason;
        facts.metadata = { ...info.metadata };
      }
    } else if (name === 'google.rpc.RetryInfo') {
      facts.retryDelayMs = millisecondsOf(decode(name, detail.value).retryDelay);
    } else if (name === 'google.rpc.BadRequest') {
      facts.fields = Object.fromEntries(decode(name, detail.value).fieldViolations.map(
        (/** @type {any} */ violation) => [violation.field, violation.description]));
    }
  }
  return facts;
}
