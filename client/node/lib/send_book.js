// The items of a SendStream.
//
// An item waits, then it is sent, then it is acknowledged. Each open stream begins
// with the first item that is not acknowledged, so the daemon's index of an item is
// its distance from there.

import { errorOfRefusal } from './errors.js';
import { payloadOf } from './wire.js';

/**
 * @typedef {import('./errors.js').ActordError} ActordError
 * @typedef {import('../types/index.js').Refused} Refused
 * @typedef {ReturnType<typeof import('./wire.js').sendRequest>} SendRequest
 */

const MAX_ITEMS = 1000; // of a batch, as stream.proto says
const MAX_BATCH_BYTES = 1 << 20;
// Tags and lengths of the fields of an item.
const ITEM_OVERHEAD_BYTES = 32;

export class SendBook {
  #maxUnacknowledged;
  /** Items from the first unacknowledged one on. @type {SendRequest[]} */
  #items = [];
  #released = 0; // items at the front of #items that are acknowledged
  #sent = 0; // items behind the released ones that the open stream has sent
  #first = 0; // index of the first unacknowledged item
  #streamFirst = 0; // index of the first item of the open stream
  /** @type {Refused[]} */
  #refusals = [];

  /** @param {number} maxUnacknowledged */
  constructor(maxUnacknowledged) {
    if (!Number.isInteger(maxUnacknowledged) || maxUnacknowledged < 1) {
      throw new TypeError('maxUnacknowledged is an integer from 1');
    }
    this.#maxUnacknowledged = maxUnacknowledged;
  }

  get acknowledged() {
    return this.#first;
  }

  get unacknowledged() {
    return this.#items.length - this.#released;
  }

  get hasRoom() {
    return this.unacknowledged < this.#maxUnacknowledged;
  }

  get hasWaiting() {
    return this.#sent < this.unacknowledged;
  }

  /** Returns the index of the item. @param {SendRequest} request */
  add(request) {
    this.#items.push(request);
    return this.#first + this.unacknowledged - 1;
  }

  /** Returns a batch of at least one item. Precondition: an item waits. */
  nextBatch() {
    const begin = this.#released + this.#sent;
    let end = begin;
    let bytes = 0;
    while (end < this.#items.length && end - begin < MAX_ITEMS) {
      bytes += bytesOf(this.#items[end]);
      if (end > begin && bytes > MAX_BATCH_BYTES) break;
      ++end;
    }
    this.#sent += end - begin;
    return { sends: this.#items.slice(begin, end) };
  }

  /** @param {any} response */
  received(response) {
    for (const { index, refusal } of response.refusals) {
      const request = this.#items[
        this.#released + this.#streamFirst + index - this.#first];
      this.#refusals.push({
        index: this.#streamFirst + index,
        pid: request.pid,
        topic: request.topic,
        payload: payloadOf(request.payload),
        error: errorOfRefusal(refusal),
      });
    }
    const count = this.#streamFirst + response.ackedCount - this.#first;
    this.#first += count;
    this.#sent -= count;
    this.#released += count;
    if (this.#released * 2 > this.#items.length) {
      this.#items.splice(0, this.#released);
      this.#released = 0;
    }
  }

  /** Sends everything again that is not acknowledged, on a new stream. */
  reopen() {
    this.#sent = 0;
    this.#streamFirst = this.#first;
  }

  /**
   * Whether another stream may take the unacknowledged items over.
   * @param {ActordError} error
   */
  canContinue(error) {
    const sent = this.#items.slice(this.#released, this.#released + this.#sent);
    return error.code === 'UNAVAILABLE'
      && sent.every(({ messageId }) => messageId !== '');
  }

  takeRefusals() {
    const taken = this.#refusals.sort((one, other) => one.index - other.index);
    this.#refusals = [];
    return taken;
  }
}

/** At least the bytes of the item on the wire. @param {SendRequest} request */
function bytesOf({ pid, topic, messageId, payload }) {
  return ITEM_OVERHEAD_BYTES + payload.data.length
    + 3 * (pid.length + topic.length + messageId.length + payload.contentType.length);
}
