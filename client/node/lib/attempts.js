// Timeouts and repeated attempts.
//
// A refusal with a retry delay had no effect, so any call is repeated after it. A
// call that lost its connection may have had its effect, so only a call is repeated
// that has an id or has the same effect when it is made twice.

/** @typedef {import('./errors.js').ActordError} ActordError */

export const DEFAULT_TIMEOUT_MS = 30_000;
export const DEFAULT_ATTEMPTS = 12;
// setTimeout fires at once for a longer time.
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
// A call that lasted as long was served, so its attempts are counted anew.
const SERVED_MS = 10_000;

/** A moment; with null it never comes. */
export class Deadline {
  #end;

  /** @param {number | null} timeoutMs */
  constructor(timeoutMs) {
    if (timeoutMs !== null && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
      throw new TypeError('a timeout is null or a number of at least 0 ms, not '
        + `${typeof timeoutMs === 'string' ? `'${timeoutMs}'` : String(timeoutMs)}`);
    }
    this.#end = timeoutMs === null ? Infinity : performance.now() + timeoutMs;
  }

  /** Milliseconds until then, at least 0; null: for ever. */
  remaining() {
    return this.#end === Infinity ? null : Math.max(0, this.#end - performance.now());
  }

  get isOver() {
    return performance.now() >= this.#end;
  }
}

/**
 * The pause in ms after `count` failed attempts. Up to half of it is random, so that
 * clients do not come back all at once.
 * @param {number} count
 */
export function backoff(count, longestMs = LONGEST_PAUSE_MS) {
  const pause = Math.min(longestMs, FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 16));
  return pause * (0.5 + Math.random() / 2);
}

/**
 * Rejects with the reason of the signal when it is aborted.
 * @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>}
 */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** The attempts of one call. */
export class Attempts {
  #deadline;
  #maxAttempts;
  #repeatable;
  #failed = 0;
  #begin = 0;

  /**
   * @param {Deadline} deadline @param {number} maxAttempts @param {boolean} repeatable
   */
  constructor(deadline, maxAttempts, repeatable) {
    this.#deadline = deadline;
    this.#maxAttempts = maxAttempts;
    this.#repeatable = repeatable;
  }

  /** The deadline of the attempt that begins now, as gRPC takes it. */
  begin() {
    this.#begin = performance.now();
    const remaining = this.#deadline.remaining();
    return remaining === null ? Infinity : Date.now() + remaining;
  }

  /**
   * The pause before the next attempt, in ms. Throws the error if no further attempt
   * follows.
   * @param {ActordError} error
   */
  pauseAfter(error) {
    if (performance.now() - this.#begin > SERVED_MS) this.#failed = 0;
    this.#failed += 1;
    const wanted = this.#pause(error);
    const remaining = this.#deadline.remaining();
    if (wanted === null || this.#failed >= this.#maxAttempts
        || (remaining !== null && wanted >= remaining)) {
      throw error;
    }
    return wanted;
  }

  /** @param {ActordError} error */
  #pause(error) {
    // The process has had the call. Older daemons name a delay even so.
    if (error.reason === 'CALL_FAILED') return null;
    if (error.retryDelayMs !== null) {
      return error.retryDelayMs * Math.min(2 ** (this.#failed - 1), 16);
    }
    if (error.code === 'UNAVAILABLE' && this.#repeatable) return backoff(this.#failed);
    return null;
  }
}

/** Whether a stream that has lost its connection may go on, and when. */
export class Patience {
  #patienceMs;
  #failed = 0;
  #lastAnswer = performance.now();

  /** @param {number | null} patienceMs without an answer; null: without end */
  constructor(patienceMs) {
    this.#patienceMs = patienceMs;
  }

  answered() {
    this.#failed = 0;
    this.#lastAnswer = performance.now();
  }

  /**
   * The pause before the next stream in ms; null: it has taken too long.
   * @param {ActordError} error
   */
  pauseAfter(error) {
    // A quiet stream has had its last answer long ago.
    if (this.#failed === 0) this.#lastAnswer = performance.now();
    this.#failed += 1;
    const wanted = Math.max(error.retryDelayMs ?? 0, backoff(this.#failed));
    const away = performance.now() - this.#lastAnswer;
    return this.#patienceMs !== null && away + wanted > this.#patienceMs
      ? null : wanted;
  }
}
