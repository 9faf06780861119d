// Subscribing to what processes publish: an iterator that subscribes again by itself.

import { LastingCall } from './lasting_call.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').SubscribeOptions} SubscribeOptions
 * @typedef {import('../types/index.js').Publication} Publication
 * @typedef {import('./client.js').Client} Client
 */

export class Subscription {
  /** null: it is open. @type {LastingCall<Publication | null>} */
  #call;
  #wasOpen = false;
  /** @type {number | null} since the last publication */
  #missed = 0;

  /**
   * @param {Client} client @param {string | string[]} patterns
   * @param {SubscribeOptions} options
   */
  constructor(client, patterns, options) {
    this.#call = new LastingCall(client, {
      method: 'Subscribe',
      request: { patterns: typeof patterns === 'string' ? [patterns] : patterns },
      name: 'subscription',
      deliver: (response, isFirst) => this.#deliver(response, isFirst),
    }, options);
  }

  async open() {
    // The first value says that the subscription is open.
    if (!this.#wasOpen) await this.#call.items.next();
    return this;
  }

  close() {
    this.#call.close();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<Publication, void>>} */
  async next() {
    for (;;) {
      const { value, done } = await this.#call.items.next();
      if (done) return { value: undefined, done };
      if (value) return { value, done: false };
    }
  }

  /** @returns {Promise<IteratorResult<Publication, void>>} */
  async return() {
    this.close();
    await this.#call.items.return();
    return { value: undefined, done: true };
  }

  /**
   * @param {any} response @param {boolean} isFirst
   * @returns {Generator<Publication | null, void, undefined>}
   */
  * #deliver(response, isFirst) {
    if (isFirst) {
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
