// Calls between processes that have no answer yet: who waits for whom.
import { duration, msOf, shown } from "./text.js";

// Processes of a chain that are named.
const MOST_NAMED = 8;

/** @param {string} pid @param {string} [type] @param {string} [name] */
const processText = (pid, type, name) =>
  shown(type ? `${pid} (${type}${name ? ` @${name}` : ""})` : pid, { most: 300 });

/** @param {any} call a PendingCall @returns {string} */
export const calleeText = (call) => (call.command
  ? shown(`the command ${call.command} of ${call.plugin === "builtin" ? "the daemon" : `plugin ${call.plugin}`}`, { most: 300 })
  : processText(call.calleePid, call.calleeType, call.calleeName));

/** @param {any} call @returns {string} */
const answerText = (call) => `${call.command ? "" : "the answer of "}${calleeText(call)}`;

/** The program outside; "" if it is not known. @param {any} call @param {string} before @param {string} after @returns {string} */
export function outsideText({ outside }, before = "", after = "") {
  const parts = [outside?.name, outside?.address, Number(outside?.connection ?? 0) > 0 ? `connection ${outside.connection}` : ""].filter(Boolean);
  return parts.length > 0 ? shown(before + parts.join(", ") + after, { most: 300 }) : "";
}

/** @param {any} call @returns {string} */
export const callerText = (call) =>
  call.pid ? processText(call.pid, call.processType, call.name) : `a program outside${outsideText(call, " (", ")")}`;

/** No event but the answer lets the caller take a step. @param {any} call */
const waitsForThisAlone = (call) =>
  call.state === "PROCESS_STATE_BLOCKED" && Number(call.yieldsOutstanding ?? 0) === 1;

/**
 * The calls behind a call: that of its callee, that of the callee's callee, ...
 * @param {any} call @param {any[]} calls all known calls
 * @returns {{links: any[], isCycle: boolean}} isCycle: the last one is to the caller
 */
export function chainOf(call, calls) {
  const ofCaller = new Map();
  for (const one of calls) {
    if (one.pid && !ofCaller.has(one.pid)) ofCaller.set(one.pid, one);
  }
  const links = [];
  const seen = new Set();
  let at = call.calleePid;
  while (at && at !== call.pid && ofCaller.has(at) && !seen.has(at)) {
    seen.add(at);
    links.push(ofCaller.get(at));
    at = links.at(-1).calleePid;
  }
  return { links, isCycle: Boolean(call.pid) && at === call.pid };
}

/**
 * @param {any} call @param {any[]} calls @param {number} now ms
 * @returns {string} "the answer of 1.2 (a), which waits for the answer of 1.3 (b)"
 */
export function whyCallWaits(call, calls, now) {
  const { links, isCycle } = chainOf(call, calls);
  const isDeadlock = isCycle && [call, ...links].every(waitsForThisAlone);
  const parts = [answerText(call), ...links.slice(0, MOST_NAMED).map((link) => `which waits for ${answerText(link)}`)];
  if (links.length > MOST_NAMED) parts.push("and so on");
  let text = parts.join(", ");
  if (isDeadlock) text += ": a deadlock, none of them takes a message before its answer";
  else if (isCycle) text += ": a cycle of calls";
  if (call.deadline) text += `; the call fails in ${duration(Math.max(0, (msOf(call.deadline) - now) / 1000))}`;
  return text;
}
