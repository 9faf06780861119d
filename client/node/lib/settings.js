// One setting of a client, and where it comes from.

import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Setting
 * @property {string} value
 * @property {string} origin for messages: 'tlsCa' or '$ACTORD_CLIENT_TLS_CA'
 */

/**
 * Null: it is not set. An empty option also overrides the variable.
 * @param {unknown} given @param {string} option @param {string} variable
 * @returns {Setting | null}
 */
export function findSetting(given, option, variable) {
  if (given !== undefined) {
    const value = textOf(given, option);
    return value ? { value, origin: option } : null;
  }
  const value = process.env[variable];
  return value ? { value, origin: `$${variable}` } : null;
}

/**
 * Throws TypeError unless it is a string. The error does not repeat the value, which may
 * be a token.
 * @param {unknown} value @param {string} option @returns {string}
 */
export function textOf(value, option) {
  if (typeof value === 'string') return value;
  throw new TypeError(`${option} must be a string, not ${value === null ? null
    : typeof value}`);
}

/**
 * The error for a file whose content is wrong.
 * @param {Setting} setting @param {string} what
 */
export function wrongFile({ value, origin }, what) {
  return new TypeError(`${origin}: ${value}: ${what}`);
}

/**
 * What `read` returns. An error of the file system also names the setting.
 * @template T @param {Setting} setting @param {() => T} read @returns {T}
 */
export function reading({ value, origin }, read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw Object.assign(new Error(`${origin} cannot be read: ${error.message}`),
      { ...error, path: value });
  }
}

/** @param {Setting} setting */
export function readBytes(setting) {
  return reading(setting, () => readFileSync(setting.value));
}
