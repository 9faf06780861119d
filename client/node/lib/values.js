// The arguments and the results of the calls, as plain values.

/**
 * @typedef {import('../types/index.js').Data} Data
 * @typedef {import('../types/index.js').Durability} Durability
 * @typedef {import('../types/index.js').Failure} Failure
 * @typedef {import('../types/index.js').JsonValue} JsonValue
 * @typedef {import('../types/index.js').Receipt} Receipt
 */

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain';
const BYTES_TYPE = 'application/octet-stream';
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class Payload {
  /** @param {Uint8Array | string} [data] @param {string} [contentType] */
  constructor(data = new Uint8Array(), contentType = '') {
    if (typeof data === 'string') data = Buffer.from(data);
    if (!(data instanceof Uint8Array)) {
      throw new TypeError('the data of a payload are bytes or text');
    }
    this.data = data;
    this.contentType = contentType;
    Object.freeze(this);
  }

  /**
   * @param {Data} [value] @param {string} [contentType] replaces the type
   * @returns {Payload}
   */
  static of(value, contentType) {
    const made = payloadOf(value);
    return contentType === undefined ? made : new Payload(made.data, contentType);
  }

  /** @param {JsonValue | object} value @returns {Payload} */
  static json(value) {
    const text = JSON.stringify(value, refuseWhatJsonHasNot);
    if (text === undefined) {
      throw new TypeError(`a ${typeof value} is no JSON value`);
    }
    return new Payload(text, JSON_TYPE);
  }

  /** @returns {string} */
  get text() {
    return decoder.decode(this.data);
  }

  /** @returns {any} */
  json() {
    return JSON.parse(this.text);
  }
}

/** @param {string} _key @param {unknown} value */
function refuseWhatJsonHasNot(_key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError(`JSON has no ${value}`);
  }
  return value;
}

/** @param {Data | undefined} value @returns {Payload} */
function payloadOf(value) {
  if (value === undefined) return new Payload();
  if (value instanceof Payload) return value;
  if (typeof value === 'string') return new Payload(value, TEXT_TYPE);
  if (value instanceof Uint8Array) return new Payload(value, BYTES_TYPE);
  if (value instanceof ArrayBuffer) {
    return new Payload(new Uint8Array(value), BYTES_TYPE);
  }
  if (ArrayBuffer.isView(value)) {
    throw new TypeError('bytes are given as Uint8Array or ArrayBuffer');
  }
  return Payload.json(value);
}

export class Submitted {
  /**
   * @param {string} pid @param {boolean} duplicate @param {boolean} delivered
   * @param {Durability} durability @param {Receipt} receipt
   */
  constructor(pid, duplicate, delivered, durability, receipt) {
    this.pid = pid;
    this.duplicate = duplicate;
    this.delivered = delivered;
    this.durability = durability;
    this.receipt = receipt;
    Object.freeze(this);
  }

  toString() {
    return this.pid;
  }
}

export class Reply {
  /**
   * @param {Payload} payload @param {string} pid @param {boolean} duplicate
   * @param {Receipt} receipt @param {boolean} started
   */
  constructor(payload, pid, duplicate, receipt, started) {
    this.payload = payload;
    this.pid = pid;
    this.duplicate = duplicate;
    this.receipt = receipt;
    this.started = started;
    Object.freeze(this);
  }

  get text() {
    return this.payload.text;
  }

  json() {
    return this.payload.json();
  }
}

export class Outcome {
  /**
   * @param {{pid: string, result: Payload | null, failure: Failure | null,
   *   createTime: Date | null, endTime: Date | null, steps: number,
   *   receipt: Receipt}} facts
   */
  constructor({ pid, result, failure, createTime, endTime, steps, receipt }) {
    this.pid = pid;
    this.result = result;
    this.failure = failure;
    this.createTime = createTime;
    this.endTime = endTime;
    this.steps = steps;
    this.receipt = receipt;
    Object.freeze(this);
  }

  get text() {
    return this.#result().text;
  }

  json() {
    return this.#result().json();
  }

  #result() {
    if (this.result === null) {
      throw new TypeError(`process ${this.pid} has ended without a result`);
    }
    return this.result;
  }
}
