// Sending in bulk, watching processes, and subscribing to what they publish.

import type { MessageOptions } from './client.js';
import type { ActordError } from './errors.js';
import type { Data, Payload, Publication, Target, WatchEvent } from './values.js';

/** An item that the daemon has refused, or that is too large for it. */
export interface Refused {
  /** 0 is the first item of the stream. */
  readonly index: number;
  readonly pid: string;
  readonly topic: string;
  readonly payload: Payload;
  readonly error: ActordError;
}

/** Sending in bulk. Messages of one stream to one process arrive in order. When the
 * connection breaks, the unacknowledged items are sent again on another; their ids
 * prevent that one is delivered twice. */
export class SendStream {
  private constructor();
  /** How many items, from the first on, are delivered or refused. */
  get acknowledged(): number;
  /** Resolves with the index of the item, once there is room for it: await it.
   * Rejects with DeadlineExceeded if there is no room within the timeout. */
  send(pid: Target, payload?: Data,
    options?: Omit<MessageOptions, 'timeoutMs' | 'signal'>): Promise<number>;
  /** Resolves when every item is acknowledged or refused. */
  flush(): Promise<void>;
  /** The items that the daemon has refused since the last call. */
  takeRefusals(): Refused[];
  /** `flush`, and the end of the stream. Rejects with ItemsRefused if the daemon has
   * refused items that takeRefusals() has not returned. */
  close(): Promise<void>;
  /** Ends the stream at once. */
  cancel(): void;
}

/** The live processes, and then each start and end. When the connection breaks, the
 * watch goes on where it was. It throws Unavailable if the daemon has not answered for
 * the timeout of the client. */
export class Watch implements AsyncIterableIterator<WatchEvent> {
  private constructor();
  /** A later watch with this token and the same filters continues behind the last
   * response whose events have all been taken from this one. */
  get resumeToken(): string;
  /** Ends the iteration. */
  close(): void;
  next(): Promise<IteratorResult<WatchEvent, void>>;
  return(): Promise<IteratorResult<WatchEvent, void>>;
  [Symbol.asyncIterator](): this;
}

/** Publications, from the moment on at which the subscription is open. If the program
 * takes them too slowly, the daemon drops the oldest: `missed` of the next publication
 * says how many. When the connection breaks, the program is subscribed again; `missed`
 * is then null. It throws Unavailable if the daemon has not answered for the timeout of
 * the client. */
export class Subscription implements AsyncIterableIterator<Publication> {
  private constructor();
  /** Resolves when the subscription is open. The first `next` opens it, too. */
  open(): Promise<this>;
  /** Ends the iteration. */
  close(): void;
  next(): Promise<IteratorResult<Publication, void>>;
  return(): Promise<IteratorResult<Publication, void>>;
  [Symbol.asyncIterator](): this;
}
