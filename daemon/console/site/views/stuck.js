// Commands and processes that have waited too long, and the reasons.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { call, page } from "../api.js";
import { whyCallWaits } from "../calls.js";
import { Ago, Filters, Foreign, List, Past, Pid, State, Table, typeOptions } from "../parts.js";
import { Polled } from "../polled.js";
import { count, counted, duration, msOf, shown, word } from "../text.js";
import { retryAction } from "./process_actions.js";
import { Debtors, STUCK_SECONDS, groupsOfYields } from "./troubles.js";

const SUSPECT_STATES = ["BLOCKED", "RUNNING", "READY"];
const MOST_SUSPECTS = 100;
const MOST_YIELDS = 500;
const MOST_ROWS = 50;
// Processes whose names are asked for at once.
const MOST_NAMES = 10;
const MOST_KEPT_NAMES = 1000;

const WHYS = {
  BLOCKED: (one) => `waits for ${counted(one.yieldsOutstanding, "command")} and takes no messages`,
  RUNNING: () => "has been in one step since the answer before",
  READY: () => "is ready, and no worker has run it",
};

/** @param {{name?: string}} props */
const Name = ({ name }) => html`<${Foreign} text=${name ? `@${name}` : "–"} most=${60} />`;

/** The daemon does not record since when these wait, so they are compared with
    the answer before: a process that has taken no step in between is shown. */
class Suspects extends Polled {
  everyMs = 5000;
  /** @type {Map<string, any>|null} null: there is no answer before */
  #before = null;
  #of = "";

  keyOf({ type }) {
    return type;
  }

  async load({ type }, signal) {
    const lists = await Promise.all(SUSPECT_STATES.map((state) =>
      page("ListProcesses", "processes", { processType: type, state: `PROCESS_STATE_${state}`, pageSize: MOST_SUSPECTS }, signal, 3)));
    const seen = lists.flatMap(({ rows }) => rows)
      .filter((one) => !one.state.endsWith("BLOCKED") || Number(one.mailboxMessages ?? 0) > 0);
    const before = this.#of === type ? this.#before : null;
    this.#before = new Map(seen.map((one) => [one.pid, one]));
    this.#of = type;
    return {
      isFirst: before === null,
      rows: seen.filter((one) => before?.get(one.pid)?.steps === one.steps && before.get(one.pid)?.state === one.state),
      more: lists.some(({ next }) => next),
    };
  }

  view({ rows, more, isFirst }) {
    return html`
      <${Table} stacks=${true} caption="Other processes that make no progress" empty=${isFirst ? "Comparing…" : "No other process is stuck."}
        heads=${["PID", "Type", "Name", "State", "#Mailbox", "Why"]}
        rows=${rows.map((one) => [html`<${Pid} pid=${one.pid} />`, html`<${Foreign} text=${one.processType} most=${60} />`, html`<${Name} name=${one.names?.[0]} />`, html`<${State} state=${one.state} />`,
          count(one.mailboxMessages), WHYS[word(one.state, "PROCESS_STATE_").toUpperCase()]?.(one) ?? ""])} />
      ${more && html`<p class="quiet">The console checked only the first ${MOST_SUSPECTS} processes of each state. Filter by type to check others.</p>`}`;
  }
}

// The daemon examines 65,536 yields for a page.
const CALL_PAGES = 4;

/** The waits of processes for the same answer, the longest first. @param {any[]} rows @param {any[]} all @param {number} now */
function groupsOfCallers(rows, all, now) {
  const groups = new Map();
  for (const one of [...rows].sort((a, b) => msOf(a.createTime) - msOf(b.createTime))) {
    const key = JSON.stringify([one.processType, whyCallWaits({ ...one, deadline: "" }, all, now)]);
    const group = groups.get(key) ?? { count: 0, oldest: one };
    group.count += 1;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Processes that wait for the answer of another process, or for a command of a plugin in the daemon. */
class Callers extends Polled {
  everyMs = 5000;

  async load(_props, signal) {
    const old = await page("ListCalls", "calls", { olderThan: `${STUCK_SECONDS}s`, withCommands: true, pageSize: MOST_SUSPECTS }, signal, CALL_PAGES);
    // Young calls may be a part of the chain of an old one.
    const all = old.rows.some((one) => one.pid) ? await call("ListCalls", { withCommands: true, pageSize: 1000 }, { signal }) : { calls: [] };
    return { rows: old.rows.filter((one) => one.pid), more: Boolean(old.next), all: [...old.rows, ...(all.calls ?? [])] };
  }

  view({ rows, more, all }, { type }) {
    const now = Date.now();
    const groups = groupsOfCallers(rows.filter((one) => !type || one.processType === type), all, now);
    return html`
      <${Table} stacks=${true} caption="Processes that wait for an answer" empty=${`No process has waited for the answer of another process, or for a command in the daemon, for ${duration(STUCK_SECONDS)}.`}
        heads=${["Oldest asked", "#Processes", "Oldest process", "Type", "Name", "For", "Callee"]}
        rows=${groups.map(({ count: times, oldest: one }) => [html`<${Past} time=${one.createTime} />`, count(times), html`<${Pid} pid=${one.pid} />`,
          html`<${Foreign} text=${one.processType} most=${60} />`, html`<${Name} name=${one.name} />`, html`<bdi class="why">${whyCallWaits(one, all, now)}</bdi>`, html`${one.calleePid ? html`<${Pid} pid=${one.calleePid} />` : "–"}`])} />
      ${more && html`<p class="quiet">There are more than ${MOST_SUSPECTS} of them.</p>`}`;
  }
}

/** The commands that have waited for long, grouped; with the names of the oldest processes. */
class Commands extends Polled {
  /** @type {Map<string, string>} by PID */
  #names = new Map();

  async load(_props, signal) {
    const answer = await call("ListYields", { pageSize: MOST_YIELDS }, { signal });
    const groups = groupsOfYields(answer.yields ?? [], Date.now());
    if (this.#names.size > MOST_KEPT_NAMES) this.#names.clear();
    const unknown = groups.map(({ oldest }) => oldest.pid).filter((pid) => !this.#names.has(pid)).slice(0, MOST_NAMES);
    await Promise.all(unknown.map(async (pid) => {
      const found = await call("GetProcess", { pid }, { signal }).catch(() => null);
      this.#names.set(pid, found?.process?.names?.[0] ?? "");
    }));
    return { groups, more: Boolean(answer.nextPageToken) };
  }

  view({ groups, more }, { type }) {
    const of = groups.filter((one) => !type || one.type === type);
    return html`
      <${Table} stacks=${true} caption="Commands that wait" empty=${`None of the oldest commands has waited for ${duration(STUCK_SECONDS)}.`}
        heads=${["Oldest asked", "Command", "Type", "#Waiting", "Why", "Oldest process", "Name"]}
        rows=${of.slice(0, MOST_ROWS).map((one) => [html`<${Past} time=${one.oldest.createTime} />`,
          html`<a href=${`#/yields?command=${encodeURIComponent(one.command)}`}><${Foreign} text=${one.command} most=${60} /></a>`,
          html`<${Foreign} text=${one.type} most=${60} />`, `${count(one.count)}${more ? "+" : ""}`, html`<bdi class="why">${one.why}</bdi>`,
          html`<${Pid} pid=${one.oldest.pid} />`, html`<${Name} name=${this.#names.get(one.oldest.pid)} />`])} />
      ${of.length > MOST_ROWS && html`<p class="quiet">${counted(of.length - MOST_ROWS, "more group")} of commands. <a href="#/yields">All commands</a></p>`}
      ${more && html`<p class="quiet">The table counts the ${MOST_YIELDS} oldest commands that wait.</p>`}`;
  }
}

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
    <${Filters} query=${query} path="stuck" fields=${[{ name: "type", label: "Type", options: typeOptions(app) }]} />
    <h2>Processes that owe answers</h2>
    <${Debtors} most=${MOST_SUSPECTS} type=${type} />
    <h2>Commands that remote workers carry out</h2>
    <${Commands} type=${type} />
    <h2>Processes that wait for the answer of another process</h2>
    <${Callers} type=${type} />
    <h2>Other processes that make no progress</h2>
    <${Suspects} type=${type} />
    ${app.hasStore && html`
      <h2>Quarantine</h2>
      <${List} method="ListQuarantine" field="processes" request=${{ processType: type }} show=${quarantineTable(app)} />`}`;
}

