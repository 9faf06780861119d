// Watching processes: an iterator that resumes by itself.

import { Deadline, Patience, pause } from './attempts.js';
import { ActordError, Unavailable, errorOfRpc } from './errors.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').WatchOptions} WatchOptions
 * @typedef {import('../types/index.js').WatchEvent} WatchEvent
 * @typedef {import('./client.js').Client} Client
 */

export class Watch {
  #client;
  #request;
  #deadline;
  #patience;
  #signal;
  #closing = new AbortController();
  /** @type {any} */
  #call = null;
  #events;

  /**
   * @param {Client} client @param {string} processType @param {WatchOptions} options
   */
  constructor(client, processType, options) {
    const { parentPid = '', labels, resumeToken = '', skipSnapshot = false,
      timeoutMs = null, signal } = options;
    this.#client = client;
    this.#request = {
      processType, parentPid, labels: wire.labelTexts(labels), resumeToken, skipSnapshot,
    };
    this.#deadline = new Deadline(timeoutMs);
    this.#patience = new Patience(client.timeoutMs);
    this.#signal = signal;
    this.#events = this.#read();
  }

  /** @returns {string} */
  get resumeToken() {
    return this.#request.resumeToken;
  }

  close() {
    this.#closing.abort();
    this.#call?.cancel();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<WatchEvent, void>>} */
  next() {
    return this.#events.next();
  }

  /** @returns {Promise<IteratorResult<WatchEvent, void>>} */
  return() {
    this.close();
    return this.#events.return();
  }

  /** @returns {AsyncGenerator<WatchEvent, void, undefined>} */
  async* #read() {
    const abort = () => this.close();
    this.#signal?.addEventListener('abort', abort);
    try {
      while (!this.#isOver()) {
        try {
          yield* this.#responses();
          // A daemon ends a watch with an error.
          throw new Unavailable('the watch has ended', { code: 'UNAVAILABLE' });
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

  /** @returns {AsyncGenerator<WatchEvent, void, undefined>} */
  async* #responses() {
    const remaining = this.#deadline.remaining();
    this.#call = this.#client.open('WatchProcesses', this.#request,
      remaining === null ? Infinity : Date.now() + remaining);
    for await (const response of this.#call) {
      this.#patience.answered();
      const events = wire.watchEvents(response);
      const last = events.pop();
      yield* events;
      // A caller that has the last event has the response.
      this.#request.resumeToken = response.resumeToken;
      if (last) yield last;
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
    // Rejects only when the watch is closed.
    await pause(wanted, this.#closing.signal).catch(() => {});
  }
}
