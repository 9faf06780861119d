// Watching processes: an iterator that resumes by itself.

import { LastingCall } from './lasting_call.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').WatchOptions} WatchOptions
 * @typedef {import('../types/index.js').WatchEvent} WatchEvent
 * @typedef {import('./client.js').Client} Client
 */

export class Watch {
  #request;
  /** @type {LastingCall<WatchEvent>} */
  #call;

  /**
   * @param {Client} client @param {string} processType @param {WatchOptions} options
   */
  constructor(client, processType, options) {
    const { parentPid = '', labels, resumeToken = '', skipSnapshot = false } = options;
    this.#request = {
      processType, parentPid, labels: wire.labelTexts(labels), resumeToken, skipSnapshot,
    };
    this.#call = new LastingCall(client, {
      method: 'WatchProcesses',
      request: this.#request,
      name: 'watch',
      deliver: (response) => this.#deliver(response),
    }, options);
  }

  /** @returns {string} */
  get resumeToken() {
    return this.#request.resumeToken;
  }

  close() {
    this.#call.close();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<WatchEvent, void>>} */
  next() {
    return this.#call.items.next();
  }

  /** @returns {Promise<IteratorResult<WatchEvent, void>>} */
  return() {
    this.close();
    return this.#call.items.return();
  }

  /** @param {any} response @returns {Generator<WatchEvent, void, undefined>} */
  * #deliver(response) {
    wire.checkWatched(response, this.#request.labels);
    // The name may have another holder when the watch resumes.
    if (response.parentPid) this.#request.parentPid = response.parentPid;
    const events = wire.watchEvents(response);
    const last = events.pop();
    yield* events;
    // A caller that has the last event has the response.
    this.#request.resumeToken = response.resumeToken;
    if (last) yield last;
  }
}
