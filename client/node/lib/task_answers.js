// The answers to tasks, as messages: results and failures.

import { Refuse, Retry } from './task_errors.js';
import { Payload } from './values.js';
import * as wire from './wire.js';

/**
 * @typedef {import('../types/index.js').StatusCode} StatusCode
 * @typedef {import('./tasks.js').Command} Command
 * @typedef {import('./tasks.js').Task} Task
 * @typedef {ReturnType<typeof wire.payloadMessage>} PayloadMessage
 */

const MAX_FAILURE_BYTES = 256; // more is cut by the daemon
const MAX_CONTENT_TYPE_BYTES = 1024;
// The longest duration of protobuf, 10,000 years.
const MAX_DELAY_MS = 315_576_000_000_000;

/**
 * The answer for a value that the function of a command has returned. Throws
 * TypeError if the value is no Data.
 * @param {Task} task @param {any} value
 */
export function completion(task, value) {
  return {
    completions: [{
      token: task.token, result: wire.payloadMessage(Payload.of(value)),
    }],
  };
}

/** @param {string} token @param {string} message @param {unknown} code */
export function completionWithError(token, message, code) {
  return { completions: [{ token, error: wire.yieldError(message, code) }] };
}

/**
 * The answer for an error that the function of a command has thrown. Never throws: a task
 * without an answer holds its place for ever.
 * @param {Task} task @param {Command | undefined} command @param {unknown} error
 */
export function failure(task, command, error) {
  try {
    return failureOf(task, command, error);
  } catch (mistake) {
    const what = error instanceof Refuse ? 'a Refuse' : 'an error';
    return plainFailure(task.token,
      `the worker cannot say how ${what} has failed the task: ${textOf(mistake)}`,
      'INTERNAL');
  }
}

/**
 * @param {Task} task @param {Command | undefined} command @param {unknown} error
 */
function failureOf(task, command, error) {
  if (error instanceof Refuse) {
    return completionWithError(task.token, error.message, error.code);
  }
  const text = error instanceof Retry ? error.message : textOf(error);
  if (command?.maxAttempts !== undefined && task.attempt >= command.maxAttempts) {
    return completionWithError(task.token,
      `failed after ${task.attempt} attempts: ${text}`, 'UNKNOWN');
  }
  return plainFailure(task.token, text, 'UNKNOWN',
    error instanceof Retry ? error.delayMs : undefined);
}

/**
 * @param {string} token @param {string} text @param {StatusCode} code
 * @param {number} [delayMs]
 */
export function plainFailure(token, text, code, delayMs) {
  return {
    failures: [{
      token,
      error: wire.yieldError(text, code, MAX_FAILURE_BYTES),
      retryDelay: delayMs === undefined ? null
        : wire.durationMessage(Math.min(delayMs, MAX_DELAY_MS)),
    }],
  };
}

/**
 * What was thrown, as a text. Anything can be thrown, also what has no text.
 * @param {unknown} error @param {boolean} [withStack]
 */
export function textOf(error, withStack = false) {
  try {
    return (withStack && error instanceof Error && error.stack) || String(error);
  } catch {
    return `a thrown ${typeof error} without a text`;
  }
}

/** @param {any} answer @returns {PayloadMessage | undefined} undefined: it is an error */
export function resultOf(answer) {
  return answer.completions?.[0].result;
}

/** @param {string} token @param {string} why @param {StatusCode} code */
export function resultError(token, why, code) {
  // actorctl work says the same (client/tasks/held_tasks.cc).
  return completionWithError(token, `the worker's result: ${why}`, code);
}

/**
 * Why the daemon would not take the payload; '': it would.
 * @param {PayloadMessage} payload @param {number} most
 */
export function whyNotSent({ data, contentType }, most) {
  if (data.length > most) return `it has ${data.length} bytes; the limit is ${most}`;
  const bytes = Buffer.byteLength(contentType);
  return bytes > MAX_CONTENT_TYPE_BYTES
    ? `its content type has ${bytes} bytes; the limit is ${MAX_CONTENT_TYPE_BYTES}` : '';
}
