// The errors with which the function of a command says how it has failed.

import { errorCode } from './errors.js';
import { checkOptions, shown } from './options.js';

/** @typedef {import('../types/index.js').ErrorCode} ErrorCode */

export class Refuse extends Error {
  /** @param {string} message @param {{code?: ErrorCode | number}} [options] */
  constructor(message, options = {}) {
    checkMessage('Refuse', message);
    checkOptions('Refuse', options, 'code');
    const { code = 'FAILED_PRECONDITION' } = options;
    super(message);
    this.name = 'Refuse';
    this.code = errorCode(code);
  }
}

export class Retry extends Error {
  /** @param {{delayMs?: number, message?: string}} [options] */
  constructor(options = {}) {
    checkOptions('Retry', options, typeof options === 'string' ? 'message' : 'delayMs');
    const { delayMs, message = 'the worker asks for another attempt' } = options;
    checkMessage('Retry', message);
    if (delayMs !== undefined && !(Number.isFinite(delayMs) && delayMs >= 0)) {
      throw new TypeError('the delayMs of a Retry is a number of at least 0 ms, not '
        + shown(delayMs));
    }
    super(message);
    this.name = 'Retry';
    this.delayMs = delayMs;
  }
}

/** @param {string} of @param {unknown} message */
function checkMessage(of, message) {
  if (typeof message !== 'object' || message instanceof Error) return;
  throw new TypeError(`the message of a ${of} is a string, not ${shown(message)}`);
}
