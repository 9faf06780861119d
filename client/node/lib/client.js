// The client. types/index.d.ts describes its methods.

import { Attempts, DEFAULT_ATTEMPTS, DEFAULT_TIMEOUT_MS, Deadline, pause }
  from './attempts.js';
import { findEndpoint } from './endpoint.js';
import { ActordError, errorOfRpc, explainRunning, isUnknownMethod, timeoutSays }
  from './errors.js';
import { checkOptions } from './options.js';
import { ActorService } from './proto.js';
import { SendStream } from './send_stream.js';
import { Subscription } from './subscription.js';
import { Watch } from './watch.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').CallOptions} CallOptions
 * @typedef {import('../types/index.js').ClientOptions} ClientOptions
 * @typedef {import('../types/index.js').Data} Data
 * @typedef {import('../types/index.js').MessageOptions} MessageOptions
 * @typedef {import('../types/index.js').Process} Process
 * @typedef {import('../types/index.js').Start} Start
 * @typedef {import('../types/index.js').ErrorCode} ErrorCode
 * @typedef {import('../types/index.js').SubmitOptions} SubmitOptions
 * @typedef {import('../types/index.js').Target} Target
 * @typedef {import('../types/index.js').SubscribeOptions} SubscribeOptions
 * @typedef {import('../types/index.js').WatchOptions} WatchOptions
 * @typedef {import('../types/index.js').Yield} Yield
 */

export class Client {
  /** @type {Set<{cancel(): void}>} */
  #calls = new Set();
  #closed = false;
  #hasRun = true; // false: the daemon is older than the call Run
  #explain;
  #metadata;

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    checkOptions('Client', options);
    const endpoint = findEndpoint(options);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxAttempts = DEFAULT_ATTEMPTS } = options;
    new Deadline(timeoutMs); // throws if it is none
    if (!Number.isInteger(maxAttempts) || maxAttempts < 1) {
      throw new TypeError('maxAttempts is an integer from 1');
    }
    this.address = endpoint.address;
    this.timeoutMs = timeoutMs;
    this.maxAttempts = maxAttempts;
    this.#explain = endpoint.explain;
    this.#metadata = endpoint.metadata;
    this.stub = new ActorService(endpoint.address, endpoint.credentials,
      { ...wire.CHANNEL_OPTIONS, ...endpoint.channelOptions });
  }

  close() {
    this.#closed = true;
    this.stub.close();
    for (const call of this.#calls) call.cancel();
  }

  /**
   * @param {string} processType @param {Data} [input] @param {SubmitOptions} [options]
   */
  async submit(processType, input, options = {}) {
    checkOptions('submit', options);
    const request = wire.submitRequest(processType, input, options);
    return wire.submittedOf(await this.#perform('Submit', request, options,
      request.requestId !== ''), request);
  }

  /**
   * @param {Target} pid @param {Data} [payload] @param {MessageOptions} [options]
   */
  async send(pid, payload, options = {}) {
    checkOptions('send', options);
    const request = wire.sendRequest(pid, payload, options, options.messageId);
    const response = await this.#perform('Send', request, options,
      request.messageId !== '');
    return {
      duplicate: /** @type {boolean} */ (response.duplicate),
      receipt: wire.receiptOf(response.receipt),
      delivered: /** @type {number} */ (response.delivered),
      refused: /** @type {number} */ (response.refused),
    };
  }

  /**
   * @param {Target} pid @param {Data} [payload]
   * @param {MessageOptions & {start?: Start | string}} [options]
   */
  async call(pid, payload, options = {}) {
    checkOptions('call', options);
    const request = wire.callRequest(pid, payload, options);
    return wire.replyOf(await timeoutSays(
      this.#perform('Call', request, options, request.messageId !== '', true),
      `process ${request.pid} has not answered within the timeout; the call may have had `
      + 'its effect'));
  }

  /**
   * @param {string} processType @param {Data} [input]
   * @param {Omit<SubmitOptions, 'onNameConflict'> & {check?: boolean}} [options]
   */
  async run(processType, input, options = {}) {
    checkOptions('run', options);
    const { timeoutMs = this.timeoutMs, check = true, signal } = options;
    const deadline = new Deadline(timeoutMs);
    const request = wire.submitRequest(processType, input, options);
    const left = () => ({ timeoutMs: deadline.remaining(), signal });
    // A Run without a request id may start a process and still be refused.
    if (this.#hasRun && request.requestId !== '') {
      const response = await this.#run(request, left());
      if (response) return wire.outcomeOf(response, check);
    }
    const { pid } = wire.submittedOf(await this.#perform('Submit', request, left(),
      request.requestId !== ''), request);
    try {
      return await this.awaitOutcome(pid, { check, ...left() });
    } catch (error) {
      throw explainRunning(error, pid);
    }
  }

  /**
   * The answer to Run. null: the daemon does not have this call.
   * @param {object} submit @param {CallOptions} options
   */
  async #run(submit, options) {
    try {
      return await this.#perform('Run', { submit }, options, true);
    } catch (error) {
      if (!isUnknownMethod(error)) throw explainRunning(error);
      this.#hasRun = false;
      return null;
    }
  }

  /** @param {Target} pid @param {CallOptions & {check?: boolean}} [options] */
  async awaitOutcome(pid, options = {}) {
    checkOptions('awaitOutcome', options);
    const request = { pid: wire.pidOf(pid) };
    return wire.outcomeOf(await timeoutSays(
      this.#perform('Await', request, options, true),
      `process ${request.pid} has not ended within the timeout`), options.check ?? true);
  }

  /**
   * @param {Target} pid @param {string} [reason]
   * @param {CallOptions & {deadlineMs?: number}} [options]
   */
  async cancel(pid, reason = '', options = {}) {
    checkOptions('cancel', options);
    const { deadlineMs } = options;
    const request = {
      pid: wire.pidOf(pid), reason,
      deadline: deadlineMs === undefined ? null : wire.durationMessage(deadlineMs),
    };
    return wire.cancelledOf(await this.#perform('Cancel', request, options, true),
      request);
  }

  /** @param {Target} pid @param {string} [reason] @param {CallOptions} [options] */
  async terminate(pid, reason = '', options = {}) {
    checkOptions('terminate', options);
    return wire.receiptOf((await this.#perform('Terminate',
      { pid: wire.pidOf(pid), reason }, options, true)).receipt);
  }

  /**
   * @param {string} token @param {Data} [result]
   * @param {CallOptions & {contentType?: string, error?: string,
   *   code?: ErrorCode | number}} [options]
   */
  async completeYield(token, result, options = {}) {
    checkOptions('completeYield', options);
    const response = await this.#perform('CompleteYield',
      wire.completeRequest(token, result, options), options, true);
    return {
      answer: wire.answerOf(response.answer),
      receipt: wire.receiptOf(response.receipt),
    };
  }

  /** @param {Target} pid @param {CallOptions} [options] */
  async describe(pid, options = {}) {
    checkOptions('describe', options);
    return wire.processOf((await this.#perform('GetProcess',
      { pid: wire.pidOf(pid) }, options, true)).process);
  }

  /**
   * @param {string} [processType]
   * @param {Parameters<typeof wire.listRequest>[1] & CallOptions} [options]
   * @returns {AsyncGenerator<Process, void, undefined>}
   */
  ps(processType = '', options = {}) {
    checkOptions('ps', options);
    const request = wire.listRequest(processType, options);
    return this.#pages('ListProcesses', request, options,
      (page) => wire.selectedOf(page, request));
  }

  /**
   * @param {string} [processType]
   * @param {Parameters<typeof wire.endedRequest>[1] & CallOptions} [options]
   * @returns {AsyncGenerator<Process, void, undefined>}
   */
  ended(processType = '', options = {}) {
    checkOptions('ended', options);
    const request = wire.endedRequest(processType, options);
    return this.#pages('ListProcesses', request, options,
      (page) => wire.selectedOf(page, request));
  }

  /**
   * @param {string} [command]
   * @param {CallOptions & {pid?: Target, pageSize?: number}} [options]
   * @returns {AsyncGenerator<Yield, void, undefined>}
   */
  yields(command = '', options = {}) {
    checkOptions('yields', options);
    const { pid = '', pageSize = 1000 } = options;
    const request = { command, pid: wire.pidOf(pid), pageSize, pageToken: '' };
    return this.#pages('ListYields', request, options,
      (page) => page.yields.map(wire.yieldOf));
  }

  /** @param {string} [processType] @param {WatchOptions} [options] */
  watch(processType = '', options = {}) {
    checkOptions('watch', options);
    return new Watch(this, processType, options);
  }

  /** @param {string | string[]} patterns @param {SubscribeOptions} [options] */
  subscribe(patterns, options = {}) {
    checkOptions('subscribe', options);
    return new Subscription(this, patterns, options);
  }

  /** @param {CallOptions & {maxUnacknowledged?: number}} [options] */
  sendStream(options = {}) {
    checkOptions('sendStream', options);
    const { maxUnacknowledged = 10_000, timeoutMs = this.timeoutMs, signal } = options;
    return new SendStream(this, maxUnacknowledged, timeoutMs, signal);
  }

  /**
   * @param {string} method @param {object} [request]
   * @param {CallOptions & {repeatable?: boolean}} [options] @returns {Promise<any>}
   */
  async invoke(method, request = {}, options = {}) {
    checkOptions('invoke', options);
    const definition = Object.hasOwn(ActorService.service, method)
      ? ActorService.service[method] : undefined;
    if (!definition || definition.requestStream || definition.responseStream) {
      throw new TypeError(`the API has no unary call '${method}'`);
    }
    return this.#perform(method, request, options, options.repeatable ?? false);
  }

  /**
   * The ActordError for an error of gRPC; any other error is returned unchanged.
   * @param {any} error @param {string} [pid] of a process that the call has started
   */
  errorOf(error, pid) {
    return errorOfRpc(error, this.#explain, pid);
  }

  /**
   * Opens a stream, which close() cancels.
   * @param {string} method @param {object | null} request null: it has many
   * @param {number | Date} deadline @returns {any}
   */
  open(method, request, deadline) {
    this.#checkOpen();
    const options = { deadline };
    const call = request === null
      ? this.stub[method](this.#metadata, options)
      : this.stub[method](request, this.#metadata, options);
    // gRPC keeps the connection of a stream that is cancelled before it has begun.
    const begun = new Promise((resolve) => { setImmediate(resolve); });
    const cancel = call.cancel.bind(call);
    call.cancel = () => { begun.then(cancel); };
    this.#calls.add(call);
    call.on('error', () => {}); // gRPC emits it without a reader, too
    call.on('status', () => this.#calls.delete(call));
    return call;
  }

  /**
   * `asksFirst`: the call has an id that older daemons do not know. When its connection
   * was lost, it is repeated only if the daemon knows the id.
   * @param {string} method @param {object} request @param {CallOptions} options
   * @param {boolean} repeatable @param {boolean} [asksFirst] @returns {Promise<any>}
   */
  async #perform(method, request, { timeoutMs = this.timeoutMs, signal }, repeatable,
    asksFirst = false) {
    const attempts = new Attempts(new Deadline(timeoutMs), this.maxAttempts, repeatable);
    /** @type {ActordError | null} */
    let lost = null;
    for (;;) {
      try {
        if (lost && !await this.#knowsCallIds(attempts.begin(), signal)) break;
        return await this.#attempt(method, request, attempts.begin(), signal);
      } catch (error) {
        if (!(error instanceof ActordError) || this.#closed) throw error;
        await pause(attempts.pauseAfter(error), signal);
        if (asksFirst && error.retryDelayMs === null) lost = error;
      }
    }
    lost.message += '; the daemon does not know messageId of calls, so the call is not '
      + 'repeated: the process may have had it';
    throw lost;
  }

  /**
   * Rejects if there is no answer.
   * @param {number} deadline @param {AbortSignal} [signal]
   */
  async #knowsCallIds(deadline, signal) {
    try {
      // Each daemon that has this call knows the ids of calls.
      await this.#attempt('ListFailures', { pageSize: 1 }, deadline, signal);
    } catch (error) {
      if (!(error instanceof ActordError)
          || ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED'].includes(error.code)) {
        throw error;
      }
      return error.code !== 'UNIMPLEMENTED'; // PERMISSION_DENIED says so, too
    }
    return true;
  }

  /**
   * @param {string} method @param {object} request @param {number} deadline
   * @param {AbortSignal} [signal]
   */
  #attempt(method, request, deadline, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#checkOpen();
      let pid = ''; // of a process that the call has started
      const call = this.stub[method](request, this.#metadata, { deadline },
        (/** @type {any} */ error, /** @type {any} */ response) => {
          this.#calls.delete(call);
          signal?.removeEventListener('abort', abort);
          if (!error) resolve(response);
          else reject(signal?.aborted ? signal.reason : this.errorOf(error, pid));
        });
      call.on('metadata', (/** @type {any} */ metadata) => {
        [pid = ''] = metadata.get('actord-pid');
      });
      const abort = () => call.cancel();
      this.#calls.add(call);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /**
   * @template T
   * @param {string} method @param {object & {pageToken: string}} request
   * @param {CallOptions} options @param {(page: any) => T[]} items
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async* #pages(method, request, options, items) {
    do {
      const page = await this.#perform(method, request, options, true);
      yield* items(page);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken);
  }

  #checkOpen() {
    if (this.#closed) throw new Error('the client is closed');
  }
}
