// The arguments and the results of the calls.

/** The names of google.rpc.Code. */
export type StatusCode =
  | 'OK' | 'CANCELLED' | 'UNKNOWN' | 'INVALID_ARGUMENT' | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND' | 'ALREADY_EXISTS' | 'PERMISSION_DENIED' | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION' | 'ABORTED' | 'OUT_OF_RANGE' | 'UNIMPLEMENTED' | 'INTERNAL'
  | 'UNAVAILABLE' | 'DATA_LOSS' | 'UNAUTHENTICATED';

export type ErrorCode = Exclude<StatusCode, 'OK'>;

/** The promise of an acknowledgement: MEMORY ends with the daemon, LOGGED is on the
 * disk, UNSPECIFIED is from an older daemon. */
export type Receipt = 'UNSPECIFIED' | 'MEMORY' | 'LOGGED';
export type Durability = 'UNSPECIFIED' | 'VOLATILE' | 'DURABLE';
export type ProcessState =
  | 'UNSPECIFIED' | 'READY' | 'RUNNING' | 'BLOCKED' | 'IDLE' | 'DORMANT'
  | 'QUARANTINED' | 'ENDED';
/** How an ended process has ended: with a result (DONE), or as in FailureReason.
 * UNSPECIFIED: it lives. */
export type ProcessEnd =
  | 'UNSPECIFIED' | 'DONE' | 'FAILED' | 'EXCEPTION' | 'CANCELLED' | 'TERMINATED'
  | 'INIT_REFUSED' | 'LIMIT_REACHED';
/** Of a process, by key: at most 8. A key has 1 to 63 characters of a-z, 0-9 and
 * ._-/, and begins and ends with a letter or a digit; a value has 0 to 63 bytes. */
export type Labels = Readonly<Record<string, string>>;
/** Null stands for any value. */
export type LabelFilter = Readonly<Record<string, string | null>>;
export type FailureReason =
  | 'UNSPECIFIED' | 'FAILED' | 'EXCEPTION' | 'CANCELLED' | 'TERMINATED'
  | 'INIT_REFUSED' | 'LIMIT_REACHED';
/** The fate of a completion. Only ACCEPTED reached the process. */
export type Answer =
  | 'UNSPECIFIED' | 'ACCEPTED' | 'DUPLICATE' | 'CONFLICT' | 'SUPERSEDED' | 'EXPIRED'
  | 'UNKNOWN';

export type JsonValue =
  | null | boolean | number | string | JsonValue[]
  | { [key: string]: JsonValue | undefined };

/** A payload: text (text/plain), bytes (application/octet-stream), a Payload, or any
 * other JSON value (application/json). Payload.json() makes JSON of text, too. */
export type Data = string | Uint8Array | ArrayBuffer | Payload | JsonValue | object;

/** Bytes with a content type. The daemon never looks into them. */
export class Payload {
  constructor(data?: Uint8Array | string, contentType?: string);
  static of(value?: Data, contentType?: string): Payload;
  /** Throws TypeError for values that JSON cannot represent, such as NaN. */
  static json(value: JsonValue | object): Payload;
  readonly data: Uint8Array;
  readonly contentType: string;
  /** The data as UTF-8. Throws TypeError if it is not. */
  get text(): string;
  /** The data as JSON, regardless of the content type. */
  json(): any;
}

export interface Message {
  topic?: string;
  payload?: Data;
}

/** The process that `call` starts if no process holds the name. */
export interface Start {
  processType: string;
  input?: Data;
  contentType?: string;
  method?: string;
  priority?: number;
  durability?: 'VOLATILE' | 'DURABLE';
  labels?: Labels;
}

/** The answer to `submit`. All methods take it in place of a PID. */
export class Submitted {
  private constructor();
  readonly pid: string;
  /** The request id was seen before: this call started nothing. */
  readonly duplicate: boolean;
  /** `pid` held the name and has received the messages. */
  readonly delivered: boolean;
  readonly durability: Durability;
  readonly receipt: Receipt;
  toString(): string;
}

/** A PID, "@name", or what `submit` has returned; of a message also "#group". */
export type Target = string | { readonly pid: string };

export interface Sent {
  /** The message id was seen before: this call delivered nothing. */
  readonly duplicate: boolean;
  readonly receipt: Receipt;
  /** Of a message to a group: the members that have it. */
  readonly delivered: number;
  /** Of a message to a group: the members whose mailboxes were full. */
  readonly refused: number;
}

/** The answer of a process to `call`. */
export class Reply {
  private constructor();
  readonly payload: Payload;
  readonly pid: string;
  /** The answer to an earlier call with this message id. */
  readonly duplicate: boolean;
  readonly receipt: Receipt;
  /** This call has started the process. */
  readonly started: boolean;
  get text(): string;
  json(): any;
}

export interface Completed {
  readonly answer: Answer;
  readonly receipt: Receipt;
}

export interface Failure {
  readonly reason: FailureReason;
  readonly code: StatusCode;
  readonly message: string;
}

/** How a process has ended: either `result` or `failure` is set. */
export class Outcome {
  private constructor();
  readonly pid: string;
  readonly result: Payload | null;
  readonly failure: Failure | null;
  readonly createTime: Date | null;
  readonly endTime: Date | null;
  readonly steps: number;
  readonly receipt: Receipt;
  /** The result as UTF-8. Throws TypeError if there is no result. */
  get text(): string;
  json(): any;
}

/** A process, as process.proto describes it. */
export interface Process {
  readonly pid: string;
  readonly processType: string;
  readonly method: string;
  readonly state: ProcessState;
  readonly parentPid: string;
  readonly createTime: Date | null;
  readonly steps: number;
  readonly mailboxMessages: number;
  readonly mailboxBytes: number;
  readonly yieldsOutstanding: number;
  readonly cancelRequested: boolean;
  readonly priority: number;
  readonly owner: string;
  readonly durability: Durability;
  readonly labels: Labels;
  /** `ps`: at most one, the name that it has held longest. */
  readonly names: readonly string[];
  // The following are of an ended process. Its method, parent, priority, mailbox and
  // yields are not known any more.
  readonly end: ProcessEnd;
  readonly endTime: Date | null;
  /** OK: it ended with a result. */
  readonly endCode: StatusCode;
  /** Of its failure, cut. */
  readonly endMessage: string;
  // The following are known only to `describe`.
  readonly plugin: string;
  readonly pluginVersion: string;
  readonly linkedPids: readonly string[];
  readonly monitoredPids: readonly string[];
  readonly monitorPids: readonly string[];
  readonly quarantineReason: string;
}

/** An external command that waits for its completion. */
export interface Yield {
  readonly token: string;
  readonly pid: string;
  readonly processType: string;
  readonly command: string;
  readonly payload: Payload;
  readonly createTime: Date | null;
  /** Null: it never times out. */
  readonly deadline: Date | null;
  readonly attempts: number;
  readonly leaseDeadline: Date | null;
  /** The worker that holds it. */
  readonly worker: string;
  readonly lastError: string;
  readonly owner: string;
  readonly hasWorker: boolean;
}

/** A part of the live processes. `first`: forget all that were known before. `last`:
 * the set is complete. */
export interface Snapshot {
  readonly kind: 'snapshot';
  readonly processes: readonly Process[];
  readonly first: boolean;
  readonly last: boolean;
}

export interface Started {
  readonly kind: 'started';
  readonly pid: string;
  readonly processType: string;
  readonly method: string;
  readonly parentPid: string;
  readonly priority: number;
  readonly createTime: Date | null;
  readonly owner: string;
  readonly labels: Labels;
}

export interface Ended {
  readonly kind: 'ended';
  readonly pid: string;
  readonly processType: string;
  readonly parentPid: string;
  readonly createTime: Date | null;
  readonly endTime: Date | null;
  readonly steps: number;
  /** Null: it ended with a result. */
  readonly failure: Failure | null;
  readonly owner: string;
  readonly labels: Labels;
}

/** Events are missing; a new snapshot follows. 0: their number is unknown. */
export interface Missed {
  readonly kind: 'missed';
  readonly count: number;
}

/** What a process has published. */
export interface Publication {
  readonly topic: string;
  readonly payload: Payload;
  readonly publisherPid: string;
  /** In this subscription, from 1; missed ones have numbers, too. */
  readonly sequence: number;
  /** The publications that were missed since the one before; null: an unknown number,
   * because the connection broke. */
  readonly missed: number | null;
  readonly publishTime: Date | null;
  readonly owner: string;
}

export type WatchEvent = Snapshot | Started | Ended | Missed;
