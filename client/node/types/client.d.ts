// The client and its options.

import type { SendStream, Subscription, Watch } from './streams.js';
import type {
  Completed, Data, ErrorCode, LabelFilter, Labels, Message, Outcome, Process, ProcessEnd,
  ProcessState, Receipt, Reply, Sent, Start, Submitted, Target, Yield,
} from './values.js';

export interface ClientOptions {
  /** HOST[:PORT], [IPV6][:PORT] or unix:PATH; without a port, the port is 7600.
   * Default: $ACTORD_ADDRESS, else 127.0.0.1:7600. */
  address?: string;
  token?: string;
  /** File with the token. Default: $ACTORD_TOKEN_FILE. */
  tokenFile?: string;
  /** PEM file with the authority of the daemon's certificate. Default:
   * $ACTORD_CLIENT_TLS_CA, else no TLS. */
  tlsCa?: string;
  /** PEM files with this client's certificate and its key. Default:
   * $ACTORD_CLIENT_TLS_CERTIFICATE, $ACTORD_CLIENT_TLS_KEY. */
  tlsCert?: string;
  tlsKey?: string;
  /** The name in the daemon's certificate. Default:
   * $ACTORD_CLIENT_TLS_SERVER_NAME, else the host of the address. */
  tlsServerName?: string;
  /** The timeout of a call that has none of its own. Default: 30,000; null: none. */
  timeoutMs?: number | null;
  /** The number of attempts at a call that may be repeated. Default: 12. */
  maxAttempts?: number;
}

export interface CallOptions {
  /** The time for all attempts together. Default: the client's timeout; null: none. */
  timeoutMs?: number | null;
  /** Aborting it cancels the call, which rejects with the reason of the signal. The
   * call may still have its effect. */
  signal?: AbortSignal;
}

export interface SubmitOptions extends CallOptions {
  contentType?: string;
  method?: string;
  /** Default: 128 random bits; "": none, and the call is not repeated. */
  requestId?: string;
  messages?: readonly Message[];
  priority?: number;
  name?: string;
  /** If another process holds the name. FAIL: NameTaken; DELIVER: it gets the
   * messages. */
  onNameConflict?: 'FAIL' | 'DELIVER';
  durability?: 'VOLATILE' | 'DURABLE';
  /** By which lists and watches select the process. */
  labels?: Labels;
}

export interface MessageOptions extends CallOptions {
  topic?: string;
  contentType?: string;
  /** `send` makes one by default, but none for a group. `call` makes none. */
  messageId?: string;
}

export interface WatchOptions {
  parentPid?: string;
  /** Only processes that have each of these labels. */
  labels?: LabelFilter;
  /** Continues an earlier watch with the same filters. */
  resumeToken?: string;
  skipSnapshot?: boolean;
  /** The watch ends then. Default: null, never. */
  timeoutMs?: number | null;
  signal?: AbortSignal;
}

export interface SubscribeOptions {
  /** The subscription ends then. Default: null, never. */
  timeoutMs?: number | null;
  signal?: AbortSignal;
}

/** A connection to a daemon. The constructor does not connect. It throws TypeError
 * for impossible or unsafe settings and for files with wrong content, and the error of
 * the file system if a file cannot be read. Each of them names the option. */
export class Client {
  constructor(options?: ClientOptions);
  readonly address: string;
  readonly timeoutMs: number | null;
  readonly maxAttempts: number;
  /** Cancels all open calls and streams. A program also ends without it once no call
   * is open. */
  close(): void;
  /** Starts a process, and resolves when its Init has returned. */
  submit(processType: string, input?: Data, options?: SubmitOptions):
    Promise<Submitted>;
  /** Delivers a message to a PID, a '@name' or a '#group', and resolves when it is in
   * the mailbox. By default the client makes a message id, so a repeated attempt
   * delivers it once. A message to a group has none, so it is not sent again when the
   * connection was lost. */
  send(pid: Target, payload?: Data, options?: MessageOptions): Promise<Sent>;
  /** Asks a process for an answer. `start`: if no process holds the name '@name', the
   * daemon starts this one under the name, or one of this type, and calls it; of many
   * clients at once only one starts a process. Only a durable process takes a message
   * id; without it, a call that has lost its connection is not repeated. A
   * daemon that is older than these ids gets no repeated call. */
  call(pid: Target, payload?: Data,
    options?: MessageOptions & { start?: Start | string }): Promise<Reply>;
  /** Starts a process and waits for its end, in one call. An error after the start has
   * the `pid`. */
  run(processType: string, input?: Data,
    options?: Omit<SubmitOptions, 'onNameConflict'> & { check?: boolean }):
    Promise<Outcome>;
  /** Waits for the end of a process. Rejects with ProcessFailed if it has failed,
   * unless `check` is false. */
  awaitOutcome(pid: Target, options?: CallOptions & { check?: boolean }):
    Promise<Outcome>;
  /** Asks a process to end. After `deadlineMs` the daemon terminates it. */
  cancel(pid: Target, reason?: string,
    options?: CallOptions & { deadlineMs?: number }): Promise<Receipt>;
  terminate(pid: Target, reason?: string, options?: CallOptions): Promise<Receipt>;
  /** Completes an external command with a result, or with an error: its text and its
   * code (FAILED_PRECONDITION). */
  completeYield(token: string, result?: Data, options?: CallOptions & {
    contentType?: string; error?: string; code?: ErrorCode | number;
  }): Promise<Completed>;
  describe(pid: Target, options?: CallOptions): Promise<Process>;
  /** The live processes, page by page. `timeoutMs` is for each page. */
  ps(processType?: string, options?: CallOptions & {
    state?: ProcessState; parentPid?: string; labels?: LabelFilter; pageSize?: number;
  }): AsyncGenerator<Process, void, undefined>;
  /** The ended processes whose results are kept, the newest end first, page by page. */
  ended(processType?: string, options?: CallOptions & {
    end?: ProcessEnd; owner?: string; labels?: LabelFilter; pageSize?: number;
  }): AsyncGenerator<Process, void, undefined>;
  /** The external commands that wait, page by page. `command` may be a prefix that
   * ends in "*". */
  yields(command?: string, options?: CallOptions & {
    pid?: Target; pageSize?: number;
  }): AsyncGenerator<Yield, void, undefined>;
  watch(processType?: string, options?: WatchOptions): Watch;
  /** What processes publish under topics that match a pattern: a topic, or a prefix
   * that ends in "*"; 1 to 64. */
  subscribe(patterns: string | string[], options?: SubscribeOptions): Subscription;
  /** `timeoutMs`: how long `send` waits for room and `flush` for acknowledgements. */
  sendStream(options?: CallOptions & { maxUnacknowledged?: number }): SendStream;
  /** Any other unary call of actord.v1.ActorService, such as "GetStatus". Fields are
   * in camelCase, values of enumerations are their names. With `repeatable` it is
   * repeated when its connection is lost. */
  invoke(method: string, request?: object,
    options?: CallOptions & { repeatable?: boolean }): Promise<any>;
}
