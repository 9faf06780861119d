// How values become text. Text of strangers (names, payloads, errors) may hold
// characters that change how the text around them reads: `shown` makes them
// visible.

const HOSTILE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const LONGEST = 2000;

/**
 * @param {string} text of a stranger
 * @param {{lines?: boolean, most?: number}} [options] lines: keep ends of lines
 *     and tabs. most: the length above which the text is cut.
 * @returns {string}
 */
export function shown(text, { lines = false, most = LONGEST } = {}) {
  const cut = text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
  return cut.replace(HOSTILE, (c) =>
    lines && (c === "\n" || c === "\t")
      ? c
      : `\\u{${c.codePointAt(0).toString(16)}}`,
  );
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
];

/** @param {number} seconds @returns {string} "3 min 5 s" */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "?";
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  let rest = Math.round(seconds);
  const words = [];
  for (const [name, size] of UNITS) {
    if (rest >= size || words.length > 0) words.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
  }
  words.push(`${rest} s`);
  return words.slice(0, words[1]?.startsWith("0 ") ? 1 : 2).join(" ");
}

/** @param {string} text such as "1.5s" @returns {number} seconds */
export const secondsOf = (text) => Number.parseFloat(text ?? "0");

/** @param {string|undefined} time RFC 3339 @returns {number} ms since 1970 */
export const msOf = (time) => (time ? Date.parse(time) : Number.NaN);

/** @param {string|undefined} time @returns {string} "12:03:04.123" or with its day */
export function clock(time) {
  const at = new Date(msOf(time));
  if (Number.isNaN(at.getTime())) return "";
  const day = at.toDateString() === new Date().toDateString();
  const text = at.toLocaleTimeString([], { hour12: false }) +
    `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return day ? text : `${at.toISOString().slice(0, 10)} ${text}`;
}

/** @param {string|undefined} time @returns {string} "2027-01-31 12:03:04.123", of UTC */
export function utc(time) {
  const at = new Date(msOf(time));
  return Number.isNaN(at.getTime()) ? "" : at.toISOString().replace("T", " ").replace("Z", "");
}

/** @param {number|string|undefined} value @returns {string} "1,234,567" */
export const count = (value) => Number(value ?? 0).toLocaleString("en");

/** @param {number|string|undefined} value @returns {string} "1.5 MiB" */
export function bytes(value) {
  let rest = Number(value ?? 0);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (rest < 1024) return `${Math.round(rest * 10) / 10} ${unit}`;
    rest /= 1024;
  }
  return `${Math.round(rest * 10) / 10} TiB`;
}

/** @param {number|string|undefined} value @param {string} noun @returns {string} */
export const counted = (value, noun) =>
  `${count(value)} ${noun}${Number(value ?? 0) === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;

/** @param {string|undefined} name "PROCESS_STATE_IDLE" @param {string} prefix */
export const word = (name, prefix) =>
  (name ?? "").replace(prefix, "").replaceAll("_", " ").toLowerCase();

const CODES = [
  "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
  "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
  "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
  "UNAUTHENTICATED",
];
export const ERROR_CODES = CODES.slice(1);

/** @param {number|undefined} code of google.rpc.Code @returns {string} */
export const codeName = (code) => CODES[code ?? 0] ?? `code ${code}`;

/** @param {{reason?: string, code?: number, message?: string}} failure */
export const failureText = (failure) =>
  // The code of an exception is INTERNAL, which sounds like a fault of the daemon.
  `${failure?.reason === "FAILURE_REASON_EXCEPTION" ? "EXCEPTION" : codeName(failure?.code)}: ${shown(failure?.message ?? "")}`;

/** @typedef {{data?: string, contentType?: string}} Payload */

/** @param {Payload|undefined} payload @returns {Uint8Array} */
const bytesOf = (payload) => Uint8Array.from(atob(payload?.data ?? ""), (c) => c.charCodeAt(0));

/** @param {Uint8Array} raw @returns {string} Throws TypeError: it is not UTF-8. */
const decoded = (raw) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);

/** @param {Payload|undefined} payload @returns {any} Throws: it is not JSON. */
export const payloadJson = (payload) => JSON.parse(decoded(bytesOf(payload)));

/**
 * @param {Payload|undefined} payload
 * @returns {string} its text, or how many bytes it has
 */
export function payloadText(payload) {
  const raw = bytesOf(payload);
  try {
    return shown(decoded(raw), { lines: true, most: 16_000 });
  } catch {
    return `${counted(raw.length, "byte")} that are not text: ` +
      [...raw.slice(0, 64)].map((b) => b.toString(16).padStart(2, "0")).join(" ");
  }
}

/** @param {string} text @returns {{data: string, contentType: string}} */
export function payloadOf(text) {
  let contentType = "text/plain; charset=utf-8";
  try {
    JSON.parse(text);
    contentType = "application/json";
  } catch {
    // Not JSON.
  }
  const raw = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of raw) binary += String.fromCharCode(byte);
  return { data: btoa(binary), contentType };
}
