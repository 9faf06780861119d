// A call that delivers responses for days and is made again whenever it breaks: the
// call of a watch or of a subscription.

import { Deadline, Patience, pause } from './attempts.js';
import { ActordError, Unavailable } from './errors.js';

/** @typedef {import('./client.js').Client} Client */

/** @template Item */
export class LastingCall {
  #client;
  #method;
  #request;
  #name;
  #deliver;
  #deadline;
  #patience;
  #signal;
  #closing = new AbortController();
  /** @type {any} */
  #call = null;
  /** The items of all responses. @type {AsyncGenerator<Item, void, undefined>} */
  items;

  /**
   * `name` has ended if the daemon ends the call without an error. `deliver` yields
   * the items of a response; `isFirst`: of one call. It may change `request`, which the
   * next call has.
   * @param {Client} client
   * @param {{method: string, request: object, name: string,
   *   deliver: (response: any, isFirst: boolean) => Iterable<Item>}} what
   * @param {{timeoutMs?: number | null, signal?: AbortSignal}} options
   */
  constructor(client, { method, request, name, deliver }, { timeoutMs = null, signal }) {
    this.#client = client;
    this.#method = method;
    this.#request = request;
    this.#name = name;
    this.#deliver = deliver;
    this.#deadline = new Deadline(timeoutMs);
    this.#patience = new Patience(client.timeoutMs);
    this.#signal = signal;
    this.items = this.#read();
  }

  close() {
    this.#closing.abort();
    this.#call?.cancel();
  }

  /** @returns {AsyncGenerator<Item, void, undefined>} */
  async* #read() {
    const abort = () => this.close();
    this.#signal?.addEventListener('abort', abort);
    try {
      while (!this.#isOver()) {
        try {
          yield* this.#responses();
          // A daemon ends such a call with an error.
          throw new Unavailable(`the ${this.#name} has ended`, { code: 'UNAVAILABLE' });
        } catch (error) {
          this.#signal?.throwIfAborted();
          await this.#continueAfter(this.#client.errorOf(error));
        }
      }
      this.#signal?.throwIfAborted();
    } finally {
      this.#signal?.removeEventListener('abort', abort);
      this.#call?.cancel();
    }
  }

  /** @returns {AsyncGenerator<Item, void, undefined>} */
  async* #responses() {
    const remaining = this.#deadline.remaining();
    this.#call = this.#client.open(this.#method, this.#request,
      remaining === null ? Infinity : Date.now() + remaining);
    let isFirst = true;
    for await (const response of this.#call) {
      this.#patience.answered();
      yield* this.#deliver(response, isFirst);
      isFirst = false;
    }
  }

  #isOver() {
    return this.#closing.signal.aborted || this.#signal?.aborted
      || this.#deadline.isOver;
  }

  /** @param {ActordError} error */
  async #continueAfter(error) {
    if (this.#isOver() || error.code === 'DEADLINE_EXCEEDED') {
      this.#closing.abort();
      return;
    }
    if (!(error instanceof ActordError)
        || (error.retryDelayMs === null && error.code !== 'UNAVAILABLE')) throw error;
    const wanted = this.#patience.pauseAfter(error);
    if (wanted === null) throw error;
    // Rejects only when the call is closed.
    await pause(wanted, this.#closing.signal).catch(() => {});
  }
}
