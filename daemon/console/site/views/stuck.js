// Commands and processes that have waited too long, and the reasons.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { call, page } from "../api.js";
import { whyCallWaits } from "../calls.js";
import { Ago, Filters, Foreign, List, Pid, State, Table, typeOptions } from "../parts.js";
import { Polled } from "../polled.js";
import { count, counted, duration, msOf, shown, word } from "../text.js";
import { whyYieldWaits } from "../waits.js";
import { retryAction } from "./process_actions.js";

export const STUCK_SECONDS = 60;
const SUSPECT_STATES = ["BLOCKED", "RUNNING", "READY"];
const MOST_SUSPECTS = 100;

/** @param {any} item @param {number} now @returns {boolean} */
const isOld = (item, now) => now - msOf(item.createTime) >= STUCK_SECONDS * 1000;

/**
 * The commands that have waited for long, by command and type.
 * @param {any[]} yields oldest first @param {number} now
 * @returns {{command: string, type: string, count: number, oldest: any, why: string}[]}
 */
export function groupsOfYields(yields, now) {
  const groups = new Map();
  for (const item of yields.filter((one) => isOld(one, now))) {
    const key = JSON.stringify([item.command, item.processType]);
    const group = groups.get(key);
    if (group) {
      group.count += 1;
    } else {
      groups.set(key, { command: item.command, type: item.processType, count: 1, oldest: item, why: whyYieldWaits(item, now) });
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

const WHYS = {
  BLOCKED: (one) => `waits for ${counted(one.yieldsOutstanding, "command")} and takes no messages`,
  RUNNING: () => "has been in one step since the answer before",
  READY: () => "is ready, and no worker has run it",
};

/** The daemon does not record since when these wait, so they are compared with
    the answer before: a process that has taken no step in between is shown. */
class Suspects extends Polled {
  everyMs = 5000;
  #before = new Map();

  keyOf({ type }) {
    return type;
  }

  async load({ type }, signal) {
    const lists = await Promise.all(SUSPECT_STATES.map((state) =>
      page("ListProcesses", "processes", { processType: type, state: `PROCESS_STATE_${state}`, pageSize: MOST_SUSPECTS }, signal, 3)));
    const seen = lists.flatMap(({ rows }) => rows)
      .filter((one) => !one.state.endsWith("BLOCKED") || Number(one.mailboxMessages ?? 0) > 0);
    const before = this.#before;
    this.#before = new Map(seen.map((one) => [one.pid, one]));
    return {
      isFirst: before.size === 0 && seen.length > 0,
      rows: seen.filter((one) => before.get(one.pid)?.steps === one.steps && before.get(one.pid)?.state === one.state),
      more: lists.some(({ next }) => next),
    };
  }

  view({ rows, more, isFirst }) {
    return html`
      <${Table} caption="Processes that make no progress" empty=${isFirst ? "Comparing…" : "Every process that was looked at makes progress."}
        heads=${["PID", "Type", "State", "#Mailbox", "Why"]}
        rows=${rows.map((one) => [html`<${Pid} pid=${one.pid} />`, html`<${Foreign} text=${one.processType} most=${60} />`, html`<${State} state=${one.state} />`,
          count(one.mailboxMessages), WHYS[word(one.state, "PROCESS_STATE_").toUpperCase()]?.(one) ?? ""])} />
      ${more && html`<p class="quiet">The console checked only the first ${MOST_SUSPECTS} processes of each state. Filter by type to check others.</p>`}`;
  }
}

// The daemon examines 65,536 yields for a page.
const CALL_PAGES = 4;

/** Processes that wait for the answer of another process. */
class Callers extends Polled {
  everyMs = 5000;

  async load(_props, signal) {
    const old = await page("ListCalls", "calls", { olderThan: `${STUCK_SECONDS}s`, pageSize: MOST_SUSPECTS }, signal, CALL_PAGES);
    // Young calls may be a part of the chain of an old one.
    const all = old.rows.length === 0 ? { calls: [] } : await call("ListCalls", { pageSize: 1000 }, { signal });
    return { rows: old.rows, more: Boolean(old.next), all: [...old.rows, ...(all.calls ?? [])] };
  }

  view({ rows, more, all }, { type }) {
    const now = Date.now();
    const of = rows.filter((one) => !type || (one.pid ? one.processType : one.calleeType) === type);
    return html`
      <${Table} caption="Processes that wait for an answer" empty=${`No call on this page has waited for ${duration(STUCK_SECONDS)}.`}
        heads=${["Waits", "PID", "Type", "For", "Callee"]}
        rows=${of.map((one) => [html`<${Ago} time=${one.createTime} />`, one.pid ? html`<${Pid} pid=${one.pid} />` : "a program outside",
          html`<${Foreign} text=${one.processType ?? ""} most=${60} />`, html`<bdi class="why">${whyCallWaits(one, all, now)}</bdi>`, html`<${Pid} pid=${one.calleePid} />`])} />
      ${more && html`<p class="quiet">There are more than ${MOST_SUSPECTS} of them.</p>`}`;
  }
}

/** @param {any[]} rows */
const yieldTable = (rows) => {
  const now = Date.now();
  const old = rows.filter((one) => isOld(one, now));
  return html`<${Table} caption="Commands that wait" empty=${`No command on this page has waited for ${duration(STUCK_SECONDS)}.`}
    heads=${["Waits", "Command", "Process", "Type", "Why"]}
    rows=${old.map((one) => [html`<${Ago} time=${one.createTime} />`, html`<${Foreign} text=${one.command} most=${60} />`, html`<${Pid} pid=${one.pid} />`,
      html`<${Foreign} text=${one.processType} most=${60} />`, html`<bdi class="why">${whyYieldWaits(one, now)}</bdi>`])} />`;
};

/** @param {any} app */
export const quarantineTable = (app) => (rows, reload) => html`
  <${Table} caption="Processes in quarantine" empty="No process is in quarantine." heads=${["Since", "PID", "Type", "Cause", "#Mailbox", "Why", "Actions"]}
    rows=${rows.map((one) => [html`<${Ago} time=${one.since} />`, html`<${Pid} pid=${one.pid} />`, html`<${Foreign} text=${one.processType} most=${60} />`,
      word(one.cause, "QUARANTINE_CAUSE_"), count(one.mailboxMessages), html`<bdi class="why">${shown(one.reason ?? "")}</bdi>`,
      html`<${ActionButton} app=${app} action=${retryAction(one.pid)} onDone=${reload} />`])} />`;

/** @param {{app: any, query: URLSearchParams}} props */
export function Stuck({ app, query }) {
  const type = query.get("type") ?? "";
  return html`
    <p class="quiet">Commands and processes that have waited for ${duration(STUCK_SECONDS)}; the same from a shell: <code>actorctl stuck</code></p>
    <h2>Commands that remote workers carry out</h2>
    <${List} method="ListYields" field="yields" request=${{}} show=${yieldTable} />
    <h2>Processes that wait for an answer</h2>
    <${Filters} query=${query} path="stuck" fields=${[{ name: "type", label: "Type", options: typeOptions(app) }]} />
    <${Callers} type=${type} />
    <h2>Processes that make no progress</h2>
    <${Suspects} type=${type} />
    ${app.hasStore && html`
      <h2>Quarantine</h2>
      <${List} method="ListQuarantine" field="processes" request=${{ processType: type }} show=${quarantineTable(app)} />`}`;
}

