// A sentence that says why a process or a command waits.
import { whyCallWaits } from "./calls.js";
import { counted, duration, msOf, shown } from "./text.js";

/** @param {any} item a Yield @param {number} now ms @returns {string} */
export function whyYieldWaits(item, now) {
  const parts = [];
  if (item.leaseDeadline) {
    const worker = item.worker ? `worker ${shown(item.worker, { most: 100 })}` : "a worker without a name";
    parts.push(`${worker} holds attempt ${item.attempts ?? 0}, and its lease ends in ` +
      duration((msOf(item.leaseDeadline) - now) / 1000));
  } else if (item.hasWorker) {
    parts.push("workers subscribe to it, and none has taken it");
  } else {
    parts.push("no worker subscribes to it");
  }
  if (item.lastError) parts.push(`the last error was: ${shown(item.lastError, { most: 200 })}`);
  if (item.deadline) parts.push(`it times out in ${duration((msOf(item.deadline) - now) / 1000)}`);
  return parts.join("; ");
}

/** @param {any} item a Yield @param {number} now @returns {string} */
const yieldSentence = (item, now) =>
  `It waits for the command ${shown(item.command, { most: 100 })}, ` +
  `asked ${duration((now - msOf(item.createTime)) / 1000)} ago: ${whyYieldWaits(item, now)}.`;

/** @param {any[]} owed the calls that wait for its answer @param {boolean} more @param {number} now @returns {string} */
function debtSentence(owed, more, now) {
  const oldest = Math.min(...owed.map((one) => msOf(one.createTime)));
  const since = duration((now - oldest) / 1000);
  if (owed.length === 1 && !more) return `It owes an answer, and has owed it for ${since}`;
  return `It owes ${more ? "at least " : ""}${counted(owed.length, "answer")}, the oldest for ${since}`;
}

/**
 * @param {any} process a Process
 * @param {{yields: any[], calls: any[], owed: any[], moreOwed: boolean}} waits
 *     yields: its external yields, the first of them. calls: those that it waits
 *     for, the first of them. owed: those that wait for it.
 * @param {number} now ms since 1970
 * @returns {string}
 */
export function waitSentence(process, { yields, calls, owed, moreOwed }, now) {
  const outstanding = Number(process.yieldsOutstanding ?? 0);
  const messages = Number(process.mailboxMessages ?? 0);
  const words = [];
  const debt = owed.length > 0 ? debtSentence(owed, moreOwed, now) : "";
  const isIdle = outstanding === 0 && process.state === "PROCESS_STATE_IDLE";
  if (debt) words.push(isIdle ? `${debt}; it waits for a message.` : `${debt}.`);
  switch (process.state) {
    case "PROCESS_STATE_QUARANTINED":
      words.push(`It is in quarantine and takes no step: ${shown(process.quarantineReason ?? "")}.`);
      break;
    case "PROCESS_STATE_RUNNING":
      words.push(`A worker of the scheduler runs it now, after ${counted(process.steps, "step")}.`);
      break;
    case "PROCESS_STATE_READY":
      words.push("It has work and waits for a worker of the scheduler.");
      break;
    case "PROCESS_STATE_DORMANT":
      words.push("It waits for a message, and is only in the store meanwhile.");
      break;
    default:
      if (outstanding === 0 && !(isIdle && debt)) words.push("It waits for a message. No command of it is outstanding.");
  }
  if (yields.length > 0) words.push(yieldSentence(yields[0], now));
  if (yields.length > 1) {
    words.push(`It waits for ${counted(yields.length - 1, "more command")} of remote workers.`);
  }
  if (calls.length > 0) {
    words.push(`It has waited ${duration((now - msOf(calls[0].createTime)) / 1000)} for ${whyCallWaits(calls[0], [], now)}.`);
  }
  if (calls.length > 1) words.push(`It waits for ${counted(calls.length - 1, "more answer")}.`);
  const inside = outstanding - yields.length - calls.length;
  if (inside > 0 && process.state !== "PROCESS_STATE_QUARANTINED") {
    words.push(`${counted(inside, "more yield")} of it inside the daemon ${inside === 1 ? "is" : "are"} not listed.`);
  }
  if (messages > 0) {
    words.push(process.state === "PROCESS_STATE_BLOCKED"
      ? `It reads no messages before that; ${counted(messages, "event")} in its mailbox must wait.`
      : `Its mailbox holds ${counted(messages, "event")}.`);
  }
  if (process.cancelRequested) words.push("A cancel was requested.");
  return words.join(" ");
}
