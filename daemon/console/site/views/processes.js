// Live processes, filtered by the daemon.
import { html } from "../html.js";
import { Ago, Filters, Foreign, List, Pid, State, Table, typeOptions } from "../parts.js";
import { count } from "../text.js";

const STATES = ["READY", "RUNNING", "BLOCKED", "IDLE", "DORMANT", "QUARANTINED"];

/** @param {any[]} rows */
const table = (rows) => html`
  <${Table} caption="Processes" empty="No process matches." heads=${["PID", "Type", "Method", "Name", "State", "Age", "#Steps", "#Mailbox", "#Commands"]}
    rows=${rows.map((one) => [
      html`<${Pid} pid=${one.pid} />`,
      html`<${Foreign} text=${one.processType} most=${60} />`,
      html`<${Foreign} text=${one.method} most=${40} />`,
      html`<${Foreign} text=${(one.names ?? []).join(", ")} most=${60} />`,
      html`<${State} state=${one.state} />`,
      html`<${Ago} time=${one.createTime} />`,
      count(one.steps), count(one.mailboxMessages), count(one.yieldsOutstanding),
    ])} />`;

/** Goes to the process with this PID or @name. */
function Find() {
  const go = (event) => {
    event.preventDefault();
    const pid = String(new FormData(event.currentTarget).get("pid")).trim();
    if (pid) location.hash = `#/process/${encodeURIComponent(pid)}`;
  };
  return html`
    <form class="filters" onSubmit=${go}>
      <label>PID or @name <input name="pid" autocomplete="off" spellcheck=${false} /></label>
      <button type="submit">Show</button>
    </form>`;
}

/** @param {{app: any, query: URLSearchParams}} props */
export function Processes({ app, query }) {
  const state = query.get("state");
  const request = {
    processType: query.get("type") ?? "",
    state: state ? `PROCESS_STATE_${state}` : undefined,
    parentPid: query.get("parent") ?? "",
    labels: query.get("label") ? [query.get("label")] : [],
  };
  return html`
    <${Find} />
    <${Filters} query=${query} path="processes" fields=${[
      { name: "type", label: "Type", options: typeOptions(app) },
      { name: "state", label: "State", options: [["", "all"], ...STATES.map((one) => [one, one.toLowerCase()])] },
      { name: "parent", label: "Parent" },
      { name: "label", label: "Label (KEY=VALUE)" },
    ]} />
    <${List} method="ListProcesses" field="processes" request=${request} show=${table} />`;
}
