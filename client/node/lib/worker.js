// Remote workers: programs that carry out external commands.

import { backoff, DEFAULT_TIMEOUT_MS, Deadline, LONGEST_TIMER_MS, pause }
  from './attempts.js';
import { Client } from './client.js';
import { ActordError, DeadlineExceeded, Unavailable } from './errors.js';
import { checkOptions } from './options.js';
import { completion, failure, textOf } from './task_answers.js';
import { Refuse, Retry } from './task_errors.js';
import { Complaints, TaskBook } from './tasks.js';

/**
 * @typedef {import('../types/index.js').WorkerOptions} WorkerOptions
 * @typedef {import('../types/index.js').StatusCode} StatusCode
 * @typedef {import('./tasks.js').Command} Command
 * @typedef {import('./tasks.js').Task} Task
 */

const DEFAULT_CONCURRENCY = 4;
const LONGEST_PAUSE_MS = 5000;
// Another stream with the same subscription and token would fail, too.
/** @type {StatusCode[]} */
const FINAL_CODES = ['INVALID_ARGUMENT', 'UNAUTHENTICATED', 'PERMISSION_DENIED',
  'UNIMPLEMENTED'];

export class Worker {
  #client;
  #ownsClient;
  /** @type {Command[]} */
  #commands = [];
  #book;
  #stopTimeoutMs;
  #warn;
  #stopping = false;
  #closing = false;
  /** @type {any} */
  #call = null; // null: none is open
  #accepted = false; // on this stream
  /** Has ended the last stream. @type {ActordError | null} */
  #broken = null;
  #complaints = new Complaints();
  #onAccepted = () => {};
  /** @type {NodeJS.Timeout | undefined} */
  #beatTimer;
  /** @type {NodeJS.Timeout | undefined} */
  #stopTimer;
  #waiting = new AbortController(); // of the pause between two streams
  /** @type {Promise<void> | null} */
  #working = null;

  /** @param {WorkerOptions} [options] */
  constructor(options = {}) {
    checkOptions('Worker', options);
    const { client, name = '', concurrency = DEFAULT_CONCURRENCY,
      stopTimeoutMs = DEFAULT_TIMEOUT_MS, onWarning } = options;
    this.#book = new TaskBook(this.#commands, name, concurrency);
    new Deadline(stopTimeoutMs); // throws if it is none
    this.#stopTimeoutMs = stopTimeoutMs;
    this.#warn = onWarning
      ?? ((/** @type {string} */ text) => console.warn(`actord worker: ${text}`));
    this.#ownsClient = !(client instanceof Client);
    this.#client = client instanceof Client ? client : new Client(client);
  }

  /**
   * @param {string} pattern @param {(task: Task) => unknown} carryOut
   * @param {{attempts?: number}} [options]
   */
  command(pattern, carryOut, options = {}) {
    checkOptions('Worker.command', options);
    const { attempts } = options;
    this.#commands.push({ pattern, function: carryOut, maxAttempts: attempts });
    return this;
  }

  /** @param {{signals?: NodeJS.Signals[]}} [options] */
  async run(options = {}) {
    checkOptions('Worker.run', options);
    const { signals = ['SIGTERM', 'SIGINT'] } = options;
    const signalled = () => (this.#stopping ? this.close() : this.stop());
    for (const signal of signals) process.on(signal, signalled);
    try {
      await this.#work();
    } finally {
      for (const signal of signals) process.off(signal, signalled);
    }
  }

  /** @param {{timeoutMs?: number}} [options] */
  async start(options = {}) {
    checkOptions('Worker.start', options);
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    /** @type {Promise<void>} */
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new DeadlineExceeded(
        `the daemon has not accepted the worker within ${timeoutMs} ms${
          this.#broken ? `: ${this.#broken.message}` : ''}`,
        { code: 'DEADLINE_EXCEEDED' })), Math.min(timeoutMs, LONGEST_TIMER_MS));
    });
    /** @type {Promise<void>} */
    const accepted = new Promise((resolve) => { this.#onAccepted = resolve; });
    try {
      await Promise.race([accepted, this.#work(), late]);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  stop() {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#send([this.#book.stop()]);
    if (this.#stopTimeoutMs !== null) {
      this.#stopTimer = setTimeout(() => this.close(),
        Math.min(this.#stopTimeoutMs, LONGEST_TIMER_MS));
    }
    this.#leaveIfDone();
  }

  close() {
    if (this.#closing) return;
    this.#closing = true;
    this.#stopping = true;
    clearTimeout(this.#stopTimer);
    this.#call?.cancel();
    this.#waiting.abort();
    for (const task of this.#book.tasks) {
      task.cancelReason ||= 'LEASE_LOST';
      task.abort('the worker is closed');
    }
  }

  async join() {
    await this.#working;
  }

  #work() {
    if (this.#working === null) {
      this.#working = this.#converseUntilDone();
      this.#working.catch(() => {}); // run, start and join throw it
    }
    return this.#working;
  }

  async #converseUntilDone() {
    try {
      for (let failed = 0; !this.#isOver();) {
        const broken = await this.#converse();
        if (this.#isOver()) break;
        if (!(broken instanceof ActordError) || FINAL_CODES.includes(broken.code)) {
          throw broken;
        }
        failed = this.#accepted ? 1 : failed + 1;
        const wanted = Math.max(broken.retryDelayMs ?? 0,
          backoff(failed, LONGEST_PAUSE_MS));
        this.#broken = broken;
        const complaint = this.#complaints.about(broken, performance.now());
        if (complaint) this.#warn(complaint);
        // Rejects only when the worker ends.
        await pause(wanted, this.#waiting.signal).catch(() => {});
      }
    } finally {
      clearTimeout(this.#stopTimer);
      if (this.#ownsClient) this.#client.close();
    }
  }

  #isOver() {
    return this.#closing || this.#book.done;
  }

  /** Runs one stream to its end. Returns the error that has ended it. */
  async #converse() {
    this.#accepted = false;
    const requests = this.#book.open();
    try {
      this.#call = this.#client.open('Work', null, Infinity);
      this.#send(requests);
      for await (const response of this.#call) this.#received(response);
      return new Unavailable('the daemon has ended it', { code: 'UNAVAILABLE' });
    } catch (error) {
      return this.#client.errorOf(error);
    } finally {
      this.#call = null;
      clearTimeout(this.#beatTimer);
    }
  }

  /** @param {any} response */
  #received(response) {
    if (response.subscribed) {
      this.#accepted = true;
      this.#send(this.#book.subscribed(response.subscribed, this.#warn));
      this.#onAccepted();
    }
    const now = performance.now();
    for (const message of response.tasks) {
      const task = this.#book.start(message, now, (beat) => this.#send([beat]));
      if (task) this.#carryOut(task);
    }
    for (const message of response.cancels) this.#book.cancel(message);
    for (const message of response.answers) {
      this.#send(this.#book.answered(message, now, this.#warn));
    }
    this.#leaveIfDone();
    this.#beatWhenDue();
  }

  /** @param {Task} task */
  async #carryOut(task) {
    const command = this.#book.commandOf(task);
    let request;
    let warning = '';
    try {
      if (!command) throw new Error(`the worker has no command ${task.command}`);
      request = completion(task, await command.function(task));
    } catch (error) {
      request = failure(task, command, error);
      if (!(error instanceof Refuse || error instanceof Retry || task.cancelled)) {
        warning = `${task.command}, attempt ${task.attempt}, of process ${task.pid} has `
          + `failed: ${textOf(error, true)}`;
      }
    }
    this.#send(this.#book.answer(task, request, this.#warn));
    this.#leaveIfDone();
    if (warning) this.#warn(warning);
  }

  /**
   * The next stream repeats the requests that no stream has taken.
   * @param {object[]} requests
   */
  #send(requests) {
    if (this.#call === null || this.#call.writableEnded) return;
    for (const request of requests) this.#call.write(request);
  }

  /** Ends the stream in order, or the pause before the next one. */
  #leaveIfDone() {
    if (!this.#book.done) return;
    this.#call?.end();
    this.#waiting.abort();
  }

  /**
   * Sends the due heartbeats and answers, and sets a timer for the next ones, while
   * this stream is open.
   */
  #beatWhenDue() {
    clearTimeout(this.#beatTimer);
    if (this.#call === null) return;
    const { requests, moment } = this.#book.due(performance.now());
    this.#send(requests);
    if (moment === null) return;
    this.#beatTimer = setTimeout(() => this.#beatWhenDue(), Math.min(
      LONGEST_TIMER_MS, Math.max(0, moment - performance.now())));
  }
}
