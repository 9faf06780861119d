// The tasks of a worker and its side of the Work stream, without timers and
// connections. docs/workers.md of actord describes the stream.
//
// A task is held from its arrival until its answer is decided:
//
//   running    the command's function has it
//   answered   its result or failure is sent, or waits for a stream

import { errorOfRefusal, millisecondsOf } from './errors.js';
import { completionWithError, plainFailure, resultError, resultOf, whyNotSent }
  from './task_answers.js';
import { Payload } from './values.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').Data} Data
 * @typedef {import('./errors.js').ActordError} ActordError
 * @typedef {object} Command The function for the commands that match `pattern`.
 * @property {string} pattern
 * @property {(task: Task) => unknown} function
 * @property {number | undefined} maxAttempts then an error is final; undefined: as the
 *   daemon says
 * @typedef {object} Held
 * @property {Task} task
 * @property {number} session
 * @property {number} nextBeat
 * @property {any} answer WorkRequest with the completion or failure, or null
 * @property {number | null} resendAt when to send the answer again
 * @property {boolean} replaced the answer says why another one is refused
 */

const BEATS_PER_LEASE = 3;
const MAX_TASKS = 10_000; // credits and held tasks of one worker
const MAX_BEATS = 1000; // of a request
const MAX_PROGRESS_BYTES = 4096;
// Each daemon takes a message with a result of this size, whatever its limits. A message
// that is too large breaks the stream, and with it the other tasks.
const SAFE_BYTES = (4 << 20) - 8192;
const SAME_COMPLAINT_MS = 60_000;

export class Task {
  #beat;
  #abort = new AbortController();

  /** @param {any} message @param {(request: object) => void} beat */
  constructor(message, beat) {
    this.token = /** @type {string} */ (message.token);
    this.idempotencyKey = /** @type {string} */ (message.idempotencyKey);
    this.command = /** @type {string} */ (message.command);
    this.payload = wire.payloadOf(message.payload);
    this.pid = /** @type {string} */ (message.pid);
    this.processType = /** @type {string} */ (message.processType);
    this.attempt = /** @type {number} */ (message.attempt);
    this.maxAttempts = /** @type {number} */ (message.maxAttempts);
    this.leaseMs = millisecondsOf(message.lease);
    this.attemptDeadline = wire.timeOf(message.attemptDeadline);
    this.deadline = wire.timeOf(message.deadline);
    this.createTime = wire.timeOf(message.createTime);
    this.progress = message.progress ? wire.payloadOf(message.progress) : null;
    // The W3C trace of the step that yielded; '': none.
    this.traceparent = /** @type {string} */ (message.traceparent);
    this.tracestate = /** @type {string} */ (message.tracestate);
    /** @type {'' | 'YIELD_ENDED' | 'LEASE_LOST'} */
    this.cancelReason = '';
    this.#beat = beat;
  }

  get text() {
    return this.payload.text;
  }

  json() {
    return this.payload.json();
  }

  get cancelled() {
    return this.cancelReason !== '';
  }

  /** @returns {AbortSignal} */
  get signal() {
    return this.#abort.signal;
  }

  /** @param {Data} value @param {{contentType?: string}} [options] */
  reportProgress(value, { contentType } = {}) {
    const progress = wire.payloadMessage(Payload.of(value, contentType));
    const whyNot = whyNotSent(progress, MAX_PROGRESS_BYTES);
    if (whyNot) throw new TypeError(`the progress of a task: ${whyNot}`);
    this.#beat({ heartbeats: [{ token: this.token, progress }] });
  }

  /**
   * Its function should end.
   * @param {string} why
   */
  abort(why) {
    this.#abort.abort(new Error(why));
  }
}

/**
 * What a worker says when its stream has ended and it opens another one: the same text at
 * most once a minute.
 */
export class Complaints {
  #said = '';
  #moment = 0;

  /**
   * '': the text has been said.
   * @param {ActordError} error @param {number} now
   */
  about(error, now) {
    const text = `the worker keeps trying: ${error.reason ? error : error.message}`;
    if (text === this.#said && now - this.#moment < SAME_COMPLAINT_MS) return '';
    this.#said = text;
    this.#moment = now;
    return text;
  }
}

export class TaskBook {
  #commands;
  #name;
  #concurrency;
  /** @type {Map<string, Held>} */
  #held = new Map();
  #session = 0;
  #stopping = false;
  #maxResultBytes = 0; // as the daemon says; 0: it has not said it

  /** @param {Command[]} commands @param {string} name @param {number} concurrency */
  constructor(commands, name, concurrency) {
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_TASKS) {
      throw new TypeError(`concurrency is an integer from 1 to ${MAX_TASKS}`);
    }
    this.#commands = commands;
    this.#name = name;
    this.#concurrency = concurrency;
  }

  /** The worker stops, and holds no task. */
  get done() {
    return this.#stopping && this.#held.size === 0;
  }

  get tasks() {
    return [...this.#held.values()].map(({ task }) => task);
  }

  /**
   * An exact name counts before a prefix, and a long prefix before a short one.
   * @param {Task} task @returns {Command | undefined}
   */
  commandOf({ command }) {
    const rank = (/** @type {Command} */ { pattern }) => (
      pattern.endsWith('*') ? pattern.length : Infinity);
    return this.#commands
      .filter(({ pattern }) => (pattern.endsWith('*')
        ? command.startsWith(pattern.slice(0, -1)) : command === pattern))
      .sort((one, other) => rank(other) - rank(one))[0];
  }

  /**
   * The first messages of a new stream. Tasks of the broken one run on: their results
   * count unless a newer attempt was handed out. Large results wait until the daemon
   * has said its limit.
   */
  open() {
    if (!this.#commands.length) throw new TypeError('the worker has no commands');
    this.#session += 1;
    this.#maxResultBytes = 0;
    const answers = [];
    for (const held of this.#held.values()) {
      held.task.cancelReason ||= 'LEASE_LOST';
      held.resendAt = null;
      if (held.answer !== null && !this.#waits(held)) answers.push(held.answer);
    }
    return [{
      subscribe: {
        commands: this.#commands.map(({ pattern }) => pattern), worker: this.#name,
      },
      addCredits: this.#stopping ? 0
        : Math.max(0, this.#concurrency - this.#held.size),
      stop: this.#stopping,
    }, ...answers];
  }

  /**
   * Takes the first message of a stream. Returns the requests to send now.
   * @param {any} message @param {(text: string) => void} warn @returns {object[]}
   */
  subscribed(message, warn) {
    const waiting = [...this.#held.values()].filter(
      (held) => held.answer !== null && this.#waits(held));
    this.#maxResultBytes = message.maxPayloadBytes || SAFE_BYTES;
    return waiting.map((held) => this.#checked(held, warn));
  }

  stop() {
    this.#stopping = true;
    return { stop: true };
  }

  /**
   * Holds a task that has arrived. Null: the worker stops, and the end of the stream
   * gives the task back.
   * @param {any} message @param {number} now @param {(request: object) => void} beat
   */
  start(message, now, beat) {
    if (this.#stopping) return null;
    const task = new Task(message, beat);
    this.#held.set(task.token, {
      task, session: this.#session, nextBeat: now + task.leaseMs / BEATS_PER_LEASE,
      answer: null, resendAt: null, replaced: false,
    });
    return task;
  }

  /** The daemon takes a task back. @param {any} message */
  cancel(message) {
    const task = this.#held.get(message.token)?.task;
    if (!task) return;
    task.cancelReason = wire.member(message.reason, 'REASON_');
    task.abort(`the daemon has taken the task back: ${task.cancelReason}`);
  }

  /**
   * Records the end of the function. Returns the requests to send now.
   * @param {Task} task @param {object} request @param {(text: string) => void} warn
   * @returns {object[]}
   */
  answer(task, request, warn) {
    const held = this.#held.get(task.token);
    if (!held || held.task !== task) return [];
    if (task.cancelReason === 'YIELD_ENDED') return this.#release(task.token);
    held.answer = request;
    return this.#waits(held) ? [] : [this.#checked(held, warn)];
  }

  /**
   * Takes the daemon's answer to a completion, failure or heartbeat. Returns the
   * requests to send now.
   * @param {any} message @param {number} now @param {(text: string) => void} warn
   * @returns {object[]}
   */
  answered(message, now, warn) {
    const held = this.#held.get(message.token);
    if (!held) return [];
    const { task } = held;
    const answer = wire.answerOf(message.answer);
    if (message.kind === 'KIND_HEARTBEAT') {
      if (message.refusal) {
        warn(`a heartbeat of ${task.command} is refused: ${message.refusal.message}`);
      } else if (answer !== 'ACCEPTED') {
        task.cancelReason ||= 'LEASE_LOST';
      }
      return [];
    }
    if (message.refusal) {
      return this.#refused(held, errorOfRefusal(message.refusal), now, warn);
    }
    if (answer !== 'ACCEPTED' && answer !== 'DUPLICATE') {
      warn(`${task.command}, attempt ${task.attempt}, of process ${task.pid}: `
        + `${answer}`);
    }
    return this.#release(message.token);
  }

  /**
   * Returns the requests to send now, and the time of the next call; null: call again
   * when a task arrives or is answered.
   * @param {number} now @returns {{requests: object[], moment: number | null}}
   */
  due(now) {
    const requests = [];
    const beats = [];
    let moment = Infinity;
    for (const held of this.#held.values()) {
      if (held.resendAt !== null && held.resendAt <= now) {
        held.resendAt = null;
        requests.push(held.answer);
      }
      if (held.session === this.#session && !held.task.cancelled) {
        if (held.nextBeat <= now) {
          held.nextBeat = now + held.task.leaseMs / BEATS_PER_LEASE;
          beats.push({ token: held.task.token });
        }
        moment = Math.min(moment, held.nextBeat);
      }
      moment = Math.min(moment, held.resendAt ?? Infinity);
    }
    for (let first = 0; first < beats.length; first += MAX_BEATS) {
      requests.push({ heartbeats: beats.slice(first, first + MAX_BEATS) });
    }
    return { requests, moment: moment === Infinity ? null : moment };
  }

  /**
   * @param {Held} held @param {ActordError} error @param {number} now
   * @param {(text: string) => void} warn @returns {object[]}
   */
  #refused(held, error, now, warn) {
    const { task } = held;
    if (error.retryDelayMs !== null) { // its process does not keep up
      held.resendAt = now + error.retryDelayMs;
      return [];
    }
    warn(`the answer to ${task.command} of process ${task.pid} is refused: ${error}`);
    if (held.replaced) return this.#release(task.token); // it refuses any answer
    // The same again would be refused again.
    held.replaced = true;
    if (resultOf(held.answer)) {
      held.answer = resultError(task.token, error.message, error.code);
    } else if (held.answer.completions) {
      held.answer = completionWithError(task.token,
        `the worker's error: ${error.message}`, 'INTERNAL');
    } else {
      held.answer = plainFailure(task.token, `the worker's failure: ${error.message}`,
        'INTERNAL');
    }
    return [held.answer];
  }

  /**
   * Whether the answer may be too large for the daemon of this stream, which has not
   * said its limit yet.
   * @param {Held} held
   */
  #waits({ answer }) {
    const result = resultOf(answer);
    return this.#maxResultBytes === 0 && result !== undefined
      && whyNotSent(result, SAFE_BYTES) !== '';
  }

  /**
   * The answer, or an error in place of a result that the daemon would not take.
   * @param {Held} held @param {(text: string) => void} warn @returns {object}
   */
  #checked(held, warn) {
    const { answer, task } = held;
    const result = resultOf(answer);
    const whyNot = result && this.#maxResultBytes
      ? whyNotSent(result, this.#maxResultBytes) : '';
    if (whyNot) {
      warn(`the result of ${task.command} of process ${task.pid} is not sent: ${whyNot}`);
      held.answer = resultError(task.token, whyNot, 'INVALID_ARGUMENT');
    }
    return held.answer;
  }

  /** @param {string} token */
  #release(token) {
    this.#held.delete(token);
    return this.#stopping ? [] : [{ addCredits: 1 }];
  }
}
