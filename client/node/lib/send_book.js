// The items of a SendStream.
//
// An item waits, then it is sent, then it is acknowledged. Each open stream begins
// with the first item that is not acknowledged, so the daemon's index of an item is
// its distance from there.
//
// A request that is too large for gRPC of the daemon breaks the stream, and the client
// does not know how large that is until it has happened. So a large item is sent alone
// until the daemon has taken one of its size: nothing else is lost then, and it is known
// which item was too large. The client refuses it and all such items behind it.

import { errorOfRefusal, tooLarge } from './errors.js';
import { payloadOf } from './wire.js';

/**
 * @typedef {import('./errors.js').ActordError} ActordError
 * @typedef {import('../types/index.js').Refused} Refused
 * @typedef {ReturnType<typeof import('./wire.js').sendRequest>} SendRequest
 * @typedef {object} Item
 * @property {number} index
 * @property {SendRequest} request
 * @property {number} bytes at least those of a batch that has this item alone
 */

const MAX_ITEMS = 1000; // of a batch, as stream.proto says
const MAX_BATCH_BYTES = 1 << 20;
// Tags and lengths of the fields of an item.
const ITEM_OVERHEAD_BYTES = 32;
// Each daemon takes a request of this size, whatever its limits.
const SAFE_BYTES = 4 << 20;

export class SendBook {
  #maxUnacknowledged;
  /** Items from the first unacknowledged one on. @type {Item[]} */
  #items = [];
  #released = 0; // items at the front of #items that are acknowledged
  #sent = 0; // items behind the released ones that the open stream has sent
  #next = 0; // index of the next item
  #acked = 0; // items of the open stream
  #taken = SAFE_BYTES; // the daemon takes requests of this size
  #most = Infinity; // the most that it takes; Infinity: not known
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
    return this.#items[this.#released]?.index ?? this.#next;
  }

  get unacknowledged() {
    return this.#items.length - this.#released;
  }

  get hasRoom() {
    return this.unacknowledged < this.#maxUnacknowledged;
  }

  /** Whether an item waits, and not for the acknowledgement of another one. */
  get canSend() {
    const next = this.#released + this.#sent;
    if (next === this.#items.length || this.#sent === 0) {
      return next < this.#items.length;
    }
    return Math.max(this.#items[next].bytes, this.#items[next - 1].bytes) <= this.#taken;
  }

  /** Returns the index of the item. @param {SendRequest} request */
  add(request) {
    const item = { index: this.#next++, request, bytes: bytesOf(request) };
    if (item.bytes > this.#most) this.#refuse(item, tooLarge(item.bytes, this.#most));
    else this.#items.push(item);
    return item.index;
  }

  /** Returns a batch of at least one item. Precondition: canSend. */
  nextBatch() {
    const begin = this.#released + this.#sent;
    let end = begin;
    let bytes = 0;
    while (end < this.#items.length && end - begin < MAX_ITEMS) {
      bytes += this.#items[end].bytes;
      if (end > begin && bytes > MAX_BATCH_BYTES) break;
      ++end;
    }
    this.#sent += end - begin;
    return { sends: this.#items.slice(begin, end).map(({ request }) => request) };
  }

  /** @param {any} response */
  received(response) {
    for (const { index, refusal } of response.refusals) {
      this.#refuse(this.#items[this.#released + index - this.#acked],
        errorOfRefusal(refusal));
    }
    for (; this.#acked < response.ackedCount; ++this.#acked) {
      this.#taken = Math.max(this.#taken, this.#items[this.#released].bytes);
      ++this.#released;
      --this.#sent;
    }
    if (this.#released * 2 > this.#items.length) {
      this.#items.splice(0, this.#released);
      this.#released = 0;
    }
  }

  /** Sends everything again that is not acknowledged, on a new stream. */
  reopen() {
    this.#sent = 0;
    this.#acked = 0;
  }

  /**
   * Whether another stream may take the unacknowledged items over.
   * @param {ActordError} error
   */
  canContinue(error) {
    if (error.metadata.max_request_bytes) {
      if (!this.#dropTooLarge(Number(error.metadata.max_request_bytes))) return false;
    } else {
      this.#taken = SAFE_BYTES; // another daemon may follow
      this.#most = Infinity;
      if (error.code !== 'UNAVAILABLE') return false;
    }
    const sent = this.#items.slice(this.#released, this.#released + this.#sent);
    return sent.every(({ request }) => request.messageId !== '');
  }

  /**
   * Refuses each item that is larger than the daemon takes. False: there is none.
   * @param {number} most
   */
  #dropTooLarge(most) {
    const items = this.#items.slice(this.#released);
    const fits = (/** @type {Item} */ { bytes }) => bytes <= most;
    this.#most = most;
    this.#sent = items.slice(0, this.#sent).filter(fits).length;
    this.#items = items.filter(fits);
    this.#released = 0;
    for (const item of items) {
      if (!fits(item)) this.#refuse(item, tooLarge(item.bytes, most));
    }
    return this.#items.length < items.length;
  }

  /** @param {Item} item @param {ActordError} error */
  #refuse({ index, request }, error) {
    this.#refusals.push({
      index, pid: request.pid, topic: request.topic,
      payload: payloadOf(request.payload), error,
    });
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
