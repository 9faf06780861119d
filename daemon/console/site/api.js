// Calls to the daemon's JSON API.
//
// The token is in sessionStorage, so that it survives a reload of this tab and
// ends with the tab. Other sites, other tabs and the network do not see it: it
// is not sent by itself, as a cookie is, and the policy of the page permits no
// scripts but those of the console.

const KEY = "actord.token";
const CALL_MS = 15_000;
const ROOT = new URL("..", document.baseURI);

/** @returns {string} "": there is none */
export const token = () => sessionStorage.getItem(KEY) ?? "";

/** @param {string} text "" forgets the token */
export function setToken(text) {
  if (text) {
    sessionStorage.setItem(KEY, text);
  } else {
    sessionStorage.removeItem(KEY);
  }
}

export class ApiError extends Error {
  /**
   * @param {string} code of Connect; "" if the daemon has not answered
   * @param {string} message
   * @param {any[]} details
   */
  constructor(code, message, details = []) {
    super(message);
    this.code = code;
    this.reason = details.find((one) => one.type === "google.rpc.ErrorInfo")?.debug?.reason ?? "";
  }

  /** Whether the daemon has not been reached. */
  get isLost() {
    return this.code === "";
  }
}

/** @returns {Record<string, string>} */
function headers() {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

/** @param {Response} response @returns {Promise<never>} */
async function fail(response) {
  const text = await response.text();
  let error = {};
  try {
    error = JSON.parse(text);
  } catch {
    // A page of a proxy.
  }
  throw new ApiError(error.code ?? `http ${response.status}`, error.message ?? text.slice(0, 200),
    error.details);
}

/**
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<Response>}
 */
async function reach(path, options) {
  try {
    return await fetch(new URL(path, ROOT), { cache: "no-store", credentials: "omit", ...options });
  } catch (error) {
    if (options.signal?.aborted && options.signal.reason?.name !== "TimeoutError") throw error;
    throw new ApiError("", "the daemon cannot be reached");
  }
}

/**
 * @param {string} method "GetProcess"
 * @param {object} [request]
 * @param {{signal?: AbortSignal, ms?: number}} [options] ms: the deadline
 * @returns {Promise<any>}
 */
export async function call(method, request = {}, { signal, ms = CALL_MS } = {}) {
  const signals = [AbortSignal.timeout(ms + 1000)];
  if (signal) signals.push(signal);
  const response = await reach(`actord.v1.ActorService/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Connect-Timeout-Ms": String(ms), ...headers() },
    body: JSON.stringify(request),
    signal: AbortSignal.any(signals),
  });
  if (!response.ok) return fail(response);
  return response.json();
}

/**
 * The metrics that have no label.
 * @param {AbortSignal} [signal]
 * @returns {Promise<Record<string, number>>}
 */
export async function metrics(signal) {
  const response = await reach("metrics", { signal });
  if (!response.ok) return fail(response);
  /** @type {Record<string, number>} */
  const values = {};
  for (const line of (await response.text()).split("\n")) {
    const match = /^([a-z_]+) (\S+)$/.exec(line);
    if (match) values[match[1]] = Number(match[2]);
  }
  return values;
}

/**
 * Reads an event stream until it ends, or until `take` returns false.
 * @param {string} path with its query
 * @param {(name: string, data: any) => boolean} take
 * @param {AbortSignal} [signal]
 */
export async function readStream(path, take, signal) {
  const response = await reach(path, { headers: headers(), signal });
  if (!response.ok) return fail(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (!name || data === undefined) continue;
      if (!take(name, JSON.parse(data))) {
        await reader.cancel();
        return undefined;
      }
    }
  }
}

/**
 * One page of a list. A filter may leave pages of the daemon short or empty, so
 * this asks for more of them, but not for more than `asks`.
 * @param {string} method
 * @param {string} field of the response that is the list
 * @param {object} request with pageSize and pageToken
 * @param {AbortSignal} [signal]
 * @returns {Promise<{rows: any[], next: string, isCut: boolean}>} isCut: there may
 *     be rows behind `next`, and too few were found in time
 */
export async function page(method, field, request, signal, asks = 10) {
  const rows = [];
  let pageToken = request.pageToken ?? "";
  for (let i = 0; i < asks; i += 1) {
    const left = request.pageSize - rows.length;
    const answer = await call(method, { ...request, pageSize: left, pageToken }, { signal });
    rows.push(...(answer[field] ?? []));
    pageToken = answer.nextPageToken ?? "";
    if (!pageToken || rows.length >= request.pageSize) break;
  }
  return { rows, next: pageToken, isCut: pageToken !== "" && rows.length < request.pageSize };
}
