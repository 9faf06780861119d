// Remote workers.

import type { Client, ClientOptions } from './client.js';
import type { Data, ErrorCode, Payload } from './values.js';

/** An error that another attempt would not change: the process gets it. `code` is the
 * name of a code or its number. Default: FAILED_PRECONDITION. */
export class Refuse extends Error {
  constructor(message: string, options?: { code?: ErrorCode | number });
  readonly code: ErrorCode;
}

/** Another attempt may succeed: after `delayMs`, at least 0, else after the back-off of
 * the command. */
export class Retry extends Error {
  constructor(options?: { delayMs?: number; message?: string });
  readonly delayMs: number | undefined;
}

/** One attempt at an external command. */
export class Task {
  private constructor();
  readonly token: string;
  /** The same for every attempt at the command. */
  readonly idempotencyKey: string;
  readonly command: string;
  readonly payload: Payload;
  readonly pid: string;
  readonly processType: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly leaseMs: number;
  readonly attemptDeadline: Date | null;
  readonly deadline: Date | null;
  readonly createTime: Date | null;
  /** The progress that the last heartbeat of an earlier attempt reported. */
  readonly progress: Payload | null;
  /** The W3C trace of the step that yielded; '': none. */
  readonly traceparent: string;
  readonly tracestate: string;
  get text(): string;
  json(): any;
  /** The task was taken back: no result of it will be used, unless the connection was
   * lost and no newer attempt was handed out. */
  get cancelled(): boolean;
  readonly cancelReason: '' | 'YIELD_ENDED' | 'LEASE_LOST';
  /** Aborted when the daemon takes the task back, and when the worker is closed. */
  get signal(): AbortSignal;
  /** Sends a heartbeat with this progress, at most 4096 bytes, for the next attempt.
   * Throws TypeError if it is longer. The worker sends all other heartbeats itself. */
  reportProgress(value: Data, options?: { contentType?: string }): void;
}

export interface WorkerOptions {
  /** Its settings make a client that ends with the worker. */
  client?: Client | ClientOptions;
  /** The worker's name in lists of the daemon. */
  name?: string;
  /** The number of tasks that run at a time. Default: 4. */
  concurrency?: number;
  /** The time that running tasks have after stop(); then other workers get them.
   * Default: 30,000; null: no limit. */
  stopTimeoutMs?: number | null;
  /** Gets a text about a daemon that cannot be reached or has ended the stream, the same
   * text at most once a minute; and about each refused answer, and each error that a
   * function threw, but for Refuse and Retry. Default: console.warn. */
  onWarning?: (text: string) => void;
}

/** Carries out external commands. The worker renews the leases, opens another stream
 * if the stream breaks, and sends answers again that the daemon could not take. A
 * function must not block the event loop for longer than a lease. */
export class Worker {
  constructor(options?: WorkerOptions);
  /** Makes a function carry out the commands of this name, or, with a pattern that
   * ends in "*", of this prefix. It returns the result, or throws Refuse for an error
   * that is final, and Retry or anything else for an error that another attempt may
   * not have. An error of attempt number `attempts` is final; by default the policy of
   * the daemon decides alone. */
  command(pattern: string,
    carryOut: (task: Task) => Data | void | Promise<Data | void>,
    options?: { attempts?: number }): this;
  /** Works until stop() or one of the signals (SIGTERM, SIGINT); a second signal ends
   * it at once. Rejects if the daemon refuses the worker. */
  run(options?: { signals?: NodeJS.Signals[] }): Promise<void>;
  /** Works in the background. Resolves when the daemon has accepted the worker. */
  start(options?: { timeoutMs?: number }): Promise<void>;
  /** Takes no more tasks. The worker ends when the tasks under way are done. Tasks
   * that have arrived and are not begun go to other workers. */
  stop(): void;
  /** Ends the stream at once: other workers get the running tasks. */
  close(): void;
  /** Waits for the end of a started worker. Rejects with the error that ended it. */
  join(): Promise<void>;
}
