// Sending in bulk, with flow control.

import { Deadline, LONGEST_TIMER_MS, Patience, pause } from './attempts.js';
import { ActordError, DeadlineExceeded, ItemsRefused, Unavailable } from './errors.js';
import { checkOptions } from './options.js';
import { SendBook } from './send_book.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').Data} Data
 * @typedef {import('../types/index.js').MessageOptions} MessageOptions
 * @typedef {import('../types/index.js').Target} Target
 * @typedef {import('./client.js').Client} Client
 */

export class SendStream {
  #client;
  #timeoutMs;
  #signal;
  #book;
  #patience;
  #closing = false;
  /** The error that has ended the stream. @type {unknown} */
  #error = null;
  /** @type {any} */
  #call = null; // null: none is open
  #pumping = false; // a pump is scheduled, or the call wants none
  /** @type {Set<() => void>} */
  #waiters = new Set();
  #ended;
  #queued = 0; // sends that wait for room
  /** The last of them has stopped waiting. @type {Promise<unknown>} */
  #admitted = Promise.resolve();

  /**
   * @param {Client} client @param {number} maxUnacknowledged
   * @param {number | null} timeoutMs @param {AbortSignal} [signal]
   */
  constructor(client, maxUnacknowledged, timeoutMs, signal) {
    new Deadline(timeoutMs); // throws if it is none
    signal?.throwIfAborted();
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#book = new SendBook(maxUnacknowledged);
    this.#patience = new Patience(client.timeoutMs);
    this.#ended = this.#run();
  }

  /** @returns {number} */
  get acknowledged() {
    return this.#book.acknowledged;
  }

  /**
   * @param {Target} pid @param {Data} [payload]
   * @param {Omit<MessageOptions, 'timeoutMs' | 'signal'>} [options]
   */
  async send(pid, payload, options = {}) {
    checkOptions('SendStream.send', options);
    const request = wire.sendRequest(pid, payload, options,
      options.messageId);
    if (this.#queued || this.#closing || this.#error !== null
        || !this.#book.hasRoom) await this.#room();
    if (this.#closing) throw new Error('the stream is closed');
    const index = this.#book.add(request);
    this.#pumpSoon();
    return index;
  }

  /** Waits for room behind the sends that do so already: items keep their order. */
  async #room() {
    const before = this.#admitted;
    let admit = () => {};
    this.#admitted = new Promise((resolve) => { admit = () => resolve(undefined); });
    ++this.#queued;
    try {
      await before;
      await this.#waitFor(() => this.#closing || this.#book.hasRoom,
        'room for an item');
    } finally {
      --this.#queued;
      admit();
    }
  }

  async flush() {
    await this.#waitFor(() => this.#book.unacknowledged === 0, 'acknowledgements');
  }

  takeRefusals() {
    return this.#book.takeRefusals();
  }

  async close() {
    try {
      await this.flush();
    } finally {
      this.cancel();
      await this.#ended;
    }
    const refusals = this.takeRefusals();
    if (refusals.length) throw new ItemsRefused(refusals);
  }

  cancel() {
    this.#closing = true;
    const call = this.#call;
    this.#call = null; // nothing more is written
    if (this.#book.unacknowledged) call?.cancel();
    else call?.end();
    this.#wake();
  }

  #wake() {
    for (const wake of this.#waiters) wake();
  }

  /** @param {() => boolean} condition @param {string} what */
  async #waitFor(condition, what) {
    const deadline = new Deadline(this.#timeoutMs);
    for (;;) {
      if (this.#error !== null) throw this.#error;
      if (condition()) return;
      if (deadline.isOver) {
        throw new DeadlineExceeded(`no ${what} within ${this.#timeoutMs} ms`,
          { code: 'DEADLINE_EXCEEDED' });
      }
      await this.#change(deadline.remaining());
    }
  }

  /** @param {number | null} ms @returns {Promise<void>} */
  #change(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms ?? Infinity, LONGEST_TIMER_MS));
      this.#waiters.add(wake);
    });
  }

  async #run() {
    const abort = () => this.#call?.cancel();
    this.#signal?.addEventListener('abort', abort);
    try {
      while (!this.#closing) await this.#converse();
    } catch (error) {
      this.#error = this.#signal?.aborted ? this.#signal.reason : error;
    } finally {
      if (this.#book.unacknowledged) this.#error ??= new Error('the stream is closed');
      this.#signal?.removeEventListener('abort', abort);
      this.#call = null;
      this.#wake();
    }
  }

  /** One stream, to its end, and the pause behind it. */
  async #converse() {
    this.#signal?.throwIfAborted();
    const call = this.#client.open('SendStream', null, Infinity);
    this.#call = call;
    this.#pumping = false;
    call.on('drain', () => {
      if (call !== this.#call) return;
      this.#pumping = false;
      this.#pumpSoon();
    });
    this.#pumpSoon();
    try {
      for await (const response of call) {
        this.#patience.answered();
        this.#book.received(response);
        this.#pumpSoon();
        this.#wake();
      }
      if (!this.#closing) {
        throw new Unavailable('the stream has ended', { code: 'UNAVAILABLE' });
      }
    } catch (raw) {
      this.#call = null;
      const error = this.#client.errorOf(raw);
      if (this.#closing || !(error instanceof ActordError)
          || !this.#book.canContinue(error)) throw error;
      const wanted = this.#patience.pauseAfter(error);
      if (wanted === null) throw error;
      this.#book.reopen();
      this.#wake();
      await pause(wanted, this.#signal);
    }
  }

  /** Writes after pending `send` calls have run, so that batches are large. */
  #pumpSoon() {
    if (this.#pumping || this.#call === null || !this.#book.canSend) return;
    this.#pumping = true;
    const call = this.#call;
    setImmediate(() => {
      if (call !== this.#call) return;
      while (this.#book.canSend) {
        if (!call.write(this.#book.nextBatch())) return; // until it has drained
      }
      this.#pumping = false;
    });
  }
}
