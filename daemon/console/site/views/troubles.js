// Failures and waiting work, grouped: what the overview and the view of stuck
// work have in common.
import { html } from "../html.js";
import { call, page } from "../api.js";
import { outsideText } from "../calls.js";
import { Foreign, Past, Pid, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { count, counted, duration, failureText, msOf } from "../text.js";
import { whyYieldWaits } from "../waits.js";

export const STUCK_SECONDS = 60;
const MOST_CALLS = 1000;
// The daemon examines 65,536 yields for a page.
const CALL_PAGES = 4;

/** Texts that differ in their numbers or ids alone are equal. @param {string} text @returns {string} */
const withoutNumbers = (text) => text.replace(/\w+/g, (one) => (/\d/.test(one) ? "#" : one));

/**
 * @param {any[]} failures newest first
 * @returns {{type: string, count: number, newest: any, hasVariants: boolean}[]} by type and text,
 *     most failures first
 */
export function failuresByText(failures) {
  const groups = new Map();
  for (const one of failures) {
    const type = one.processType ?? "";
    const text = failureText(one.failure);
    const key = JSON.stringify([type, withoutNumbers(text)]);
    const group = groups.get(key);
    if (group) {
      group.count += 1;
      group.hasVariants ||= text !== failureText(group.newest.failure);
    } else {
      groups.set(key, { type, count: 1, newest: one, hasVariants: false });
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** @param {any} item @param {number} now @returns {boolean} */
export const isOld = (item, now) => now - msOf(item.createTime) >= STUCK_SECONDS * 1000;

/**
 * The commands that have waited for long, by command, type and reason.
 * @param {any[]} yields oldest first @param {number} now
 * @returns {{command: string, type: string, count: number, oldest: any, why: string}[]}
 */
export function groupsOfYields(yields, now) {
  const groups = new Map();
  for (const item of yields.filter((one) => isOld(one, now))) {
    const key = JSON.stringify([item.command, item.processType, item.worker ?? "", Boolean(item.leaseDeadline),
      Boolean(item.hasWorker), withoutNumbers(item.lastError ?? "")]);
    const group = groups.get(key);
    if (group) {
      group.count += 1;
    } else {
      groups.set(key, { command: item.command, type: item.processType, count: 1, oldest: item, why: whyYieldWaits(item, now) });
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/**
 * The processes that owe answers. Those with callers outside of the daemon come
 * first, then the longest wait.
 * @param {any[]} calls
 * @returns {{pid: string, type: string, name: string, count: number, outside: number, oldest: string, first: any}[]}
 *     first: the oldest call of a program outside; null if none waits
 */
export function debtorsOf(calls) {
  const debtors = new Map();
  for (const one of calls) {
    const debtor = debtors.get(one.calleePid) ??
      { pid: one.calleePid, type: one.calleeType ?? "", name: one.calleeName ?? "", count: 0, outside: 0, oldest: one.createTime, first: null };
    debtors.set(one.calleePid, debtor);
    debtor.count += 1;
    if (!one.pid) {
      debtor.outside += 1;
      if (!debtor.first || msOf(one.createTime) < msOf(debtor.first.createTime)) debtor.first = one;
    }
    if (msOf(one.createTime) < msOf(debtor.oldest)) debtor.oldest = one.createTime;
  }
  return [...debtors.values()].sort((a, b) =>
    Number(b.outside > 0) - Number(a.outside > 0) || msOf(a.oldest) - msOf(b.oldest));
}

/** @param {{outside: number, count: number, first: any}} debtor @returns {string} */
const whoWaits = ({ outside, count: all, first }) => [
  outside > 0 ? `${counted(outside, "program")} outside${outsideText(first, outside > 1 ? ", the first is " : ": ")}` : "",
  all > outside ? counted(all - outside, "process") : "",
].filter(Boolean).join(", ");

/** Processes that have owed an answer for long. `most`: rows. */
export class Debtors extends Polled {
  everyMs = 10_000;

  async load(_props, signal) {
    const { rows, next } = await page("ListCalls", "calls", { olderThan: `${STUCK_SECONDS}s`, pageSize: MOST_CALLS }, signal, CALL_PAGES);
    return { calls: rows, more: Boolean(next) };
  }

  view({ calls, more }, { most, type }) {
    const all = debtorsOf(calls.filter((one) => !type || one.calleeType === type));
    const outside = all.filter((one) => one.outside > 0);
    const oldest = Math.min(...outside.map((one) => msOf(one.first.createTime)));
    const plus = more ? "+" : "";
    return html`
      ${outside.length > 0 && html`
        <p class="failed">${count(outside.length)}${plus} ${outside.length === 1 && !more ? "process owes" : "processes owe"} answers to programs outside, the oldest for ${duration((Date.now() - oldest) / 1000)}.</p>`}
      <${Table} stacks=${true} caption="Processes that owe answers" empty=${`No process has owed an answer for ${duration(STUCK_SECONDS)}.`}
        heads=${["Process", "Type", "Name", "#Answers owed", "Oldest asked", "Who waits"]}
        rows=${all.slice(0, most).map((one) => [html`<${Pid} pid=${one.pid} />`, html`<${Foreign} text=${one.type || "–"} most=${60} />`,
          html`<${Foreign} text=${one.name ? `@${one.name}` : "–"} most=${60} />`, `${count(one.count)}${plus}`, html`<${Past} time=${one.oldest} />`, whoWaits(one)])} />
      ${all.length > most && html`<p class="quiet">${count(all.length - most)} more. <a href="#/stuck">All</a></p>`}
      ${more && html`<p class="quiet">The console read only the first ${count(MOST_CALLS)} calls that wait.</p>`}`;
  }
}
