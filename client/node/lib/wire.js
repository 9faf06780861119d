// Between the values of this package and the messages of the API.

import { randomBytes } from 'node:crypto';

import { ProcessFailed, errorNumber, ignored, statusCode } from './errors.js';
import { checkOptions } from './options.js';
import { Outcome, Payload, Reply, Submitted } from './values.js';

/**
 * @typedef {import('../types/index.js').MessageOptions} MessageOptions
 * @typedef {import('../types/index.js').Start} Start
 * @typedef {import('../types/index.js').SubmitOptions} SubmitOptions
 * @typedef {import('../types/index.js').ErrorCode} ErrorCode
 * @typedef {import('../types/index.js').Target} Target
 * @typedef {import('../types/index.js').Data} Data
 * @typedef {import('../types/index.js').Process} Process
 * @typedef {import('../types/index.js').ProcessState} ProcessState
 * @typedef {import('../types/index.js').ProcessEnd} ProcessEnd
 * @typedef {import('../types/index.js').LabelFilter} LabelFilter
 * @typedef {import('../types/index.js').Yield} Yield
 * @typedef {import('../types/index.js').Publication} Publication
 * @typedef {import('../types/index.js').WatchEvent} WatchEvent
 * @typedef {import('../types/index.js').Failure} Failure
 */

// Payloads and lists may be as long as the daemon's configuration permits.
export const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A client shares no connection with another client.
  'grpc.use_local_subchannel_pool': 1,
};
const MAX_ERROR_BYTES = 4096;

/** An id that no other request has: 128 random bits. */
export function newId() {
  return randomBytes(16).toString('hex');
}

/** @param {Target} target */
export function pidOf(target) {
  return typeof target === 'string' ? target : target.pid;
}

/** @param {Payload} payload */
export function payloadMessage({ data, contentType }) {
  return { data, contentType };
}

/** @param {any} message @returns {Payload} */
export function payloadOf(message) {
  return message ? new Payload(message.data, message.contentType) : new Payload();
}

/**
 * The name of a value without its prefix. A value of a newer daemon, which is only a
 * number here, is UNSPECIFIED.
 * @param {unknown} value @param {string} prefix @returns {any}
 */
export function member(value, prefix) {
  return typeof value === 'string' ? value.slice(prefix.length) : 'UNSPECIFIED';
}

/** @param {unknown} value */
export function receiptOf(value) {
  return member(value, 'RECEIPT_');
}

/** @param {unknown} value */
export function answerOf(value) {
  return member(value, 'ANSWER_');
}

/** @param {{seconds: number, nanos: number} | null} time @returns {Date | null} */
export function timeOf(time) {
  return time ? new Date(time.seconds * 1000 + time.nanos / 1e6) : null;
}

/** @param {number} ms */
export function durationMessage(ms) {
  if (!Number.isFinite(ms)) throw new TypeError(`${ms} is no number of ms`);
  const seconds = Math.trunc(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** @param {string} prefix @param {readonly string[]} known @param {string} given */
function enumerator(prefix, known, given) {
  if (!known.includes(given)) {
    throw new TypeError(`'${given}' is none of ${known.join(', ')}`);
  }
  return prefix + given;
}

/**
 * @param {string} processType @param {Data | undefined} input
 * @param {SubmitOptions} options
 */
export function submitRequest(processType, input, options) {
  const { method = '', requestId = newId(), messages = [], priority, name = '',
    onNameConflict = 'FAIL', durability, contentType, labels = {} } = options;
  return {
    processType, method, requestId, name, priority, labels: { ...labels },
    input: payloadMessage(Payload.of(input, contentType)),
    messages: messages.map((message) => ({
      topic: message.topic ?? '',
      payload: payloadMessage(Payload.of(message.payload)),
    })),
    onNameConflict: enumerator('NAME_CONFLICT_', ['FAIL', 'DELIVER'], onNameConflict),
    durability: durability && enumerator('DURABILITY_', ['VOLATILE', 'DURABLE'],
      durability),
  };
}

/**
 * Throws DaemonTooOld for a daemon that does not know durability or labels.
 * @param {any} response @param {ReturnType<typeof submitRequest>} request
 */
export function submittedOf(response, request) {
  // Each daemon that knows them answers with a receipt. A process that has got the
  // messages keeps its own.
  if (receiptOf(response.receipt) === 'UNSPECIFIED' && !response.delivered) {
    const { pid } = response;
    if (request.durability === 'DURABILITY_DURABLE') {
      throw ignored('durability', `process ${pid} ends with the daemon`, pid);
    }
    if (Object.keys(request.labels).length > 0) {
      throw ignored('labels', `process ${pid} has none`, pid);
    }
  }
  return new Submitted(response.pid, response.duplicate, response.delivered,
    member(response.durability, 'DURABILITY_'), receiptOf(response.receipt));
}

/**
 * @param {Target} target @param {Data | undefined} payload
 * @param {{topic?: string, contentType?: string}} options
 * @param {string | undefined} messageId undefined: a new one, but none for a group
 */
export function sendRequest(target, payload, { topic = '', contentType }, messageId) {
  const pid = pidOf(target);
  return {
    pid, topic, messageId: messageId ?? (pid.startsWith('#') ? '' : newId()),
    payload: payloadMessage(Payload.of(payload, contentType)),
  };
}

/**
 * @param {Target} target @param {Data | undefined} payload
 * @param {MessageOptions & {start?: Start | string}} options
 */
export function callRequest(target, payload, options) {
  const { messageId = '', start } = options;
  const request = sendRequest(target, payload, options, messageId);
  if (start === undefined) return request;
  const given = typeof start === 'string' ? { processType: start } : start;
  checkOptions('start', given);
  const { processType, input, ...more } = given;
  return {
    ...request,
    startIfAbsent: {
      ...submitRequest(processType, input, { ...more, requestId: '' }),
      // The name and its holder are the call's own.
      onNameConflict: 'NAME_CONFLICT_UNSPECIFIED',
    },
  };
}

/** @param {any} response */
export function replyOf(response) {
  return new Reply(payloadOf(response.result), response.pid, response.duplicate,
    receiptOf(response.receipt), response.started);
}

/**
 * @param {string} token @param {Data | undefined} result
 * @param {{contentType?: string, error?: string, code?: ErrorCode | number}} options
 */
export function completeRequest(token, result, { contentType, error, code }) {
  if (error === undefined) {
    return { token, result: payloadMessage(Payload.of(result, contentType)) };
  }
  if (result !== undefined) throw new TypeError('give a result or an error, not both');
  return { token, error: yieldError(error, code ?? 'FAILED_PRECONDITION') };
}

/**
 * The error, with its message cut to the length that the daemon accepts.
 * @param {string} message @param {unknown} code its name or number
 */
export function yieldError(message, code, maxBytes = MAX_ERROR_BYTES) {
  return { code: errorNumber(code), message: firstBytes(message, maxBytes) };
}

/**
 * The whole characters in the first bytes of the text. A surrogate that is alone becomes
 * U+FFFD: the daemon takes UTF-8 only.
 * @param {string} text @param {number} maxBytes
 */
function firstBytes(text, maxBytes) {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return bytes.toString();
  let end = maxBytes;
  while ((bytes[end] & 0xc0) === 0x80) --end;
  return bytes.toString('utf8', 0, end);
}

/** @param {any} failure @returns {Failure} */
function failureOf(failure) {
  return {
    reason: member(failure.reason, 'FAILURE_REASON_'),
    code: statusCode(failure.code),
    message: failure.message,
  };
}

/**
 * The outcome in an AwaitResponse or a RunResponse. Throws ProcessFailed for a failure,
 * with `check`.
 * @param {any} response @param {boolean} check
 */
export function outcomeOf({ outcome, receipt }, check) {
  const made = new Outcome({
    pid: outcome.pid,
    result: outcome.end === 'result' ? payloadOf(outcome.result) : null,
    failure: outcome.end === 'failure' ? failureOf(outcome.failure) : null,
    createTime: timeOf(outcome.createTime),
    endTime: timeOf(outcome.endTime),
    steps: outcome.steps,
    receipt: receiptOf(receipt),
  });
  if (check && made.failure) throw new ProcessFailed(made, made.failure);
  return made;
}

/** @param {any} message @returns {Process} */
export function processOf(message) {
  return {
    ...message,
    state: member(message.state, 'PROCESS_STATE_'),
    end: member(message.end, 'PROCESS_END_'),
    endTime: timeOf(message.endTime),
    endCode: statusCode(message.endCode),
    durability: member(message.durability, 'DURABILITY_'),
    createTime: timeOf(message.createTime),
  };
}

/**
 * Throws DaemonTooOld for a daemon that does not know the deadline.
 * @param {any} response @param {{pid: string, deadline: object | null}} request
 */
export function cancelledOf(response, { pid, deadline }) {
  const receipt = receiptOf(response.receipt);
  if (deadline && receipt === 'UNSPECIFIED') {
    throw ignored('the deadline',
      `it has asked process ${pid} to end and will not terminate it`);
  }
  return receipt;
}

/**
 * Throws DaemonTooOld if a selected process has not the labels by which it was
 * selected.
 * @param {any} process or an event @param {string[]} wanted
 */
export function checkLabels({ labels }, wanted) {
  for (const text of wanted) {
    const [key, value] = text.split(/=(.*)/s, 2);
    if (!Object.hasOwn(labels, key) || (value !== undefined && labels[key] !== value)) {
      throw ignored('labels', 'it does not select by them');
    }
  }
}

/**
 * The processes of a page.
 * @param {any} page @param {{labels: string[]}} request @returns {Process[]}
 */
export function selectedOf(page, { labels }) {
  return page.processes.map((/** @type {any} */ process) => {
    checkLabels(process, labels);
    return processOf(process);
  });
}

/**
 * @param {string} processType
 * @param {{state?: ProcessState, parentPid?: string, labels?: LabelFilter,
 *   pageSize?: number}} options
 */
export function listRequest(processType, options) {
  const { state, parentPid = '', labels, pageSize = 1000 } = options;
  return {
    processType, parentPid, pageSize, pageToken: '', labels: labelTexts(labels),
    state: state && enumerator('PROCESS_STATE_', ['READY', 'RUNNING', 'BLOCKED', 'IDLE',
      'DORMANT', 'QUARANTINED', 'ENDED'], state),
  };
}

/**
 * @param {string} processType
 * @param {{end?: ProcessEnd, owner?: string, labels?: LabelFilter,
 *   pageSize?: number}} options
 */
export function endedRequest(processType, { end, owner = '', labels, pageSize = 1000 }) {
  return {
    processType, owner, pageSize, pageToken: '', labels: labelTexts(labels),
    state: 'PROCESS_STATE_ENDED',
    end: end && enumerator('PROCESS_END_', ['DONE', 'FAILED', 'EXCEPTION', 'CANCELLED',
      'TERMINATED', 'INIT_REFUSED', 'LIMIT_REACHED'], end),
  };
}

/** @param {LabelFilter} [labels] null stands for any value */
export function labelTexts(labels = {}) {
  return Object.entries(labels).map(
    ([key, value]) => (value === null ? key : `${key}=${value}`));
}

/** @param {any} message @returns {Yield} */
export function yieldOf(message) {
  return {
    ...message,
    payload: payloadOf(message.payload),
    createTime: timeOf(message.createTime),
    deadline: timeOf(message.deadline),
    leaseDeadline: timeOf(message.leaseDeadline),
  };
}

/**
 * @param {any} message
 * @param {number | null} missedBefore since the last publication; null: unknown
 * @returns {Publication}
 */
export function publicationOf(message, missedBefore) {
  return {
    ...message,
    payload: payloadOf(message.payload),
    missed: missedBefore === null ? null : missedBefore + message.missed,
    publishTime: timeOf(message.publishTime),
  };
}

/**
 * Throws DaemonTooOld for a process that the filter of a watch excludes.
 * @param {any} response @param {string[]} labels
 */
export function checkWatched({ snapshot, events }, labels) {
  if (labels.length === 0) return;
  for (const process of snapshot?.processes ?? []) checkLabels(process, labels);
  for (const event of events?.events ?? []) {
    if (event.event) checkLabels(event[event.event], labels);
  }
}

/** @param {any} response @returns {WatchEvent[]} */
export function watchEvents(response) {
  if (response.update === 'snapshot') {
    const { processes, first, last } = response.snapshot;
    return [{ kind: 'snapshot', processes: processes.map(processOf), first, last }];
  }
  if (response.update === 'missed') {
    return [{ kind: 'missed', count: response.missed.count }];
  }
  return (response.events?.events ?? []).flatMap(processEvents);
}

/** @param {any} event @returns {WatchEvent[]} none for a kind of a newer daemon */
function processEvents(event) {
  if (event.event === 'started') {
    return [{
      kind: 'started', ...event.started, createTime: timeOf(event.started.createTime),
    }];
  }
  if (event.event !== 'ended') return [];
  return [{
    kind: 'ended',
    ...event.ended,
    createTime: timeOf(event.ended.createTime),
    endTime: timeOf(event.ended.endTime),
    failure: event.ended.failure ? failureOf(event.ended.failure) : null,
  }];
}
