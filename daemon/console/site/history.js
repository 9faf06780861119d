// The history of a durable process or the recorded steps of another one, and the
// spans of its timeline.
import { readStream } from "./api.js";
import { msOf } from "./text.js";

const MOST_KEPT = 1000;
const MOST_READ = 50_000;
const PAYLOAD_BYTES = 512;

/** @param {any} entry @returns {string} the kind without its prefix */
export const kindOf = (entry) => (entry.kind ?? "").replace("HISTORY_KIND_", "");

const FAILED_STEP = new Set(["fail", "threw"]);
const FAILED_END = new Set(["failed", "threw", "init refused", "limit", "terminated"]);

/** @param {any} entry @returns {boolean} */
export function isFailed(entry) {
  const kind = kindOf(entry);
  if (kind === "STEP") return FAILED_STEP.has(entry.detail);
  if (kind === "ENDED") return FAILED_END.has(entry.detail);
  return Boolean(entry.code) || kind === "TERMINATED";
}

/**
 * Reads the history to its present end, and keeps its newest entries.
 * @param {string} pid
 * @param {AbortSignal} signal
 * @returns {Promise<{entries: any[], dropped: number, isCut: boolean}>} dropped:
 *     read and not kept. isCut: too long to read to its end.
 */
export async function readHistory(pid, signal) {
  /** @type {any[]} */
  let entries = [];
  let read = 0;
  let failure = null;
  const query = new URLSearchParams({ pid, maxPayloadBytes: String(PAYLOAD_BYTES) });
  await readStream(`v1/history?${query}`, (name, data) => {
    if (name === "end") {
      if (data.code) failure = data;
      return false;
    }
    read += data.entries?.length ?? 0;
    entries.push(...(data.entries ?? []));
    if (entries.length > 2 * MOST_KEPT) entries = entries.slice(-MOST_KEPT);
    return read < MOST_READ;
  }, signal);
  if (failure) throw new Error(failure.message);
  entries = entries.slice(-MOST_KEPT);
  return { entries, dropped: read - entries.length, isCut: read >= MOST_READ };
}

/**
 * @typedef {object} Span of the timeline
 * @property {string} name
 * @property {number} from ms since 1970
 * @property {number} to
 * @property {"step"|"wait"|"life"} kind
 * @property {boolean} isFailed
 * @property {boolean} isPending
 */

/**
 * A span from each command and call to its completion. A command without completion
 * is pending.
 * @param {any[]} entries
 * @param {number} now ms since 1970
 * @returns {Span[]}
 */
export function spansOf(entries, now) {
  /** @type {Map<string, Span>} */
  const open = new Map();
  /** @type {Span[]} */
  const spans = [];
  for (const entry of entries) {
    const kind = kindOf(entry);
    const at = msOf(entry.time);
    if ((kind === "YIELD" || kind === "CALL_OUT") && entry.tag) {
      const name = kind === "YIELD" ? entry.name : `call ${entry.peerPid} ${entry.name ?? ""}`;
      const span = { name, from: at, to: now, kind: "wait", isFailed: false, isPending: true };
      open.set(entry.tag, span);
      spans.push(span);
    } else if (kind === "COMPLETION" || kind === "CANCEL_YIELD") {
      const span = open.get(entry.tag);
      if (!span) continue;
      open.delete(entry.tag);
      Object.assign(span, { to: at, isPending: false, isFailed: Boolean(entry.code) });
    }
  }
  const end = entries.find((entry) => kindOf(entry) === "ENDED");
  for (const span of open.values()) {
    if (end) Object.assign(span, { to: msOf(end.time), isPending: false });
  }
  return spans.filter((span) => Number.isFinite(span.from));
}

/**
 * The entries by step. Entries between two steps belong to the earlier step.
 * @param {any[]} entries
 * @returns {{step: string, time: string, entries: any[]}[]}
 */
export function stepsOf(entries) {
  const groups = [];
  for (const entry of entries) {
    if (kindOf(entry) === "UP_TO_HERE") continue;
    if (kindOf(entry) === "STEP" || groups.length === 0) {
      groups.push({ step: entry.step ?? "0", time: entry.time, entries: [] });
    }
    groups.at(-1).entries.push(entry);
  }
  return groups;
}
