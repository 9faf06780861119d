// Subscribing to what processes publish: an iterator that subscribes again by itself.

import { Deadline, Patience, pause } from './attempts.js';
import { ActordError, Unavailable, errorOfRpc } from './errors.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').SubscribeOptions} SubscribeOptions
 * @typedef {import('../types/index.js').Publication} Publication
 * @typedef {import('./client.js').Client} Client
 */

export class Subscription {
  #client;
  #request;
  #deadline;
  #patience;
  #signal;
  #closing = new AbortController();
  /** @type {any} */
  #call = null;
  #wasOpen = false;
  /** @type {number | null} since the last publication */
  #missed = 0;
  #events;

  /**
   * @param {Client} client @param {string | string[]} patterns
   * @param {SubscribeOptions} options
   */
  constructor(client, patterns, options) {
    const { timeoutMs = null, signal } = options;
    this.#client = client;
    this.#request = { patterns: typeof patterns === 'string' ? [patterns] : patterns };
    this.#deadline = new Deadline(timeoutMs);
    this.#patience = new Patience(client.timeoutMs);
    this.#signal = signal;
    this.#events = this.#read();
  }

  async open() {
    // The first value says that the subscription is open.
    if (!this.#wasOpen) await this.#events.next();
    return this;
  }

  close() {
    this.#closing.abort();
    this.#call?.cancel();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<Publication, void>>} */
  async next() {
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done) return { value: undefined, done };
      if (value) return { value, done: false };
    }
  }

  /** @returns {Promise<IteratorResult<Publication, void>>} */
  async return() {
    this.close();
    await this.#events.return();
    return { value: undefined, done: true };
  }

  /** @returns {AsyncGenerator<Publication | null, void, undefined>} null: it is open */
  async* #read() {
    const abort = () => this.close();
    this.#signal?.addEventListener('abort', abort);
    try {
      while (!this.#isOver()) {
        try {
          yield* this.#responses();
          // A daemon ends a subscription with an error.
          throw new Unavailable('the subscription has ended', { code: 'UNAVAILABLE' });
        } catch (error) {
          this.#signal?.throwIfAborted();
          await this.#continueAfter(errorOfRpc(error));
        }
      }
      this.#signal?.throwIfAborted();
    } finally {
      this.#signal?.removeEventListener('abort', abort);
      this.#call?.cancel();
    }
  }

  /** @returns {AsyncGenerator<Publication | null, void, undefined>} */
  async* #responses() {
    const remaining = this.#deadline.remaining();
    this.#call = this.#client.open('Subscribe', this.#request,
      remaining === null ? Infinity : Date.now() + remaining);
    let isOpen = false;
    for await (const response of this.#call) {
      this.#patience.answered();
      if (!isOpen) { // the first response of a call
        isOpen = true;
        if (this.#wasOpen) this.#missed = null;
        this.#wasOpen = true;
        yield null;
      }
      for (const message of response.publications) {
        const missed = this.#missed;
        this.#missed = 0;
        yield wire.publicationOf(message, missed);
      }
      if (this.#missed !== null) this.#missed += response.missed;
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
    // Rejects only when the subscription is closed.
    await pause(wanted, this.#closing.signal).catch(() => {});
  }
}
