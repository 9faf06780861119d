// Supervisors and their descendants. A branch is read when it is opened.
import { Component, html } from "../html.js";
import { may } from "../actions.js";
import { call, page } from "../api.js";
import { ErrorBox, Foreign, List, PAGE_ROWS, Pid, State } from "../parts.js";
import { counted, payloadJson } from "../text.js";

const SUPERVISOR = "supervisor";

/**
 * The children that a supervisor lists, by PID.
 * @param {string} pid
 * @returns {Promise<Map<string, any>>} children that are down have their id as key
 */
async function reportsOf(pid) {
  const reports = new Map();
  try {
    const answer = await call("Call", { pid, topic: "children" }, { ms: 3000 });
    for (const child of payloadJson(answer.result).children ?? []) {
      reports.set(child.pid ?? child.id, child);
    }
  } catch {
    // A busy supervisor: its children are drawn without its report.
  }
  return reports;
}

/** @param {{report?: any}} props */
const Report = ({ report }) => report
  ? html` <span class="quiet"><${Foreign} text=${report.id} most=${60} />: ${report.state}, ${counted(report.restarts, "restart")}${report.last_end ? html`, last end: <${Foreign} text=${report.last_end} most=${100} />` : ""}</span>`
  : null;

class Branch extends Component {
  state = { isOpen: false, rows: null, reports: new Map(), next: "", error: null };

  #read = async (pageToken) => {
    const { app, process } = this.props;
    try {
      const isSupervisor = process.processType === SUPERVISOR && may(app, "Call");
      const [found, reports] = await Promise.all([
        page("ListProcesses", "processes", { parentPid: process.pid, pageSize: PAGE_ROWS, pageToken }),
        isSupervisor && !pageToken ? reportsOf(process.pid) : this.state.reports,
      ]);
      this.setState(({ rows }) => ({ rows: [...(pageToken ? rows ?? [] : []), ...found.rows], next: found.next, reports, error: null }));
    } catch (error) {
      this.setState({ error });
    }
  };

  #toggle = () => {
    const isOpen = !this.state.isOpen;
    this.setState({ isOpen });
    if (isOpen) this.#read("");
  };

  render({ app, process, report }, { isOpen, rows, reports, next, error }) {
    const live = new Set((rows ?? []).map((one) => one.pid));
    const down = [...reports.values()].filter((one) => !one.pid || !live.has(one.pid));
    return html`
      <li>
        <button type="button" class="branch" aria-expanded=${isOpen} aria-label=${`Children of ${process.pid}`} onClick=${this.#toggle}>${isOpen ? "−" : "+"}</button>
        <${Foreign} text=${process.processType} most=${60} />${" "}
        ${(process.names ?? []).map((name) => html`<strong><${Foreign} text=${`@${name}`} most=${60} /></strong> `)}
        <${Pid} pid=${process.pid} />${" "}<${State} state=${process.state} /><${Report} report=${report} />
        ${isOpen && html`
          <ul class="tree">
            ${error && html`<li><${ErrorBox} error=${error} /></li>`}
            ${!rows && !error && html`<li class="quiet">Loading…</li>`}
            ${(rows ?? []).map((one) => html`<${Branch} key=${one.pid} app=${app} process=${one} report=${reports.get(one.pid)} />`)}
            ${!next && down.map((one) => html`<li class="failed">down<${Report} report=${one} /></li>`)}
            ${rows?.length === 0 && down.length === 0 && html`<li class="quiet">No children.</li>`}
            ${next && html`<li><button type="button" onClick=${() => this.#read(next)}>More</button></li>`}
          </ul>`}
      </li>`;
  }
}

/** @param {{app: any}} props */
export function Trees({ app }) {
  const show = (rows) => rows.length === 0
    ? html`<p class="quiet">There is no supervisor.</p>`
    : html`<ul class="tree">${rows.map((one) => html`<${Branch} key=${one.pid} app=${app} process=${one} />`)}</ul>`;
  return html`
    <p class="quiet">All supervisors; a supervisor below another one is in both places. The same from a shell: <code>actorctl tree</code></p>
    <${List} method="ListProcesses" field="processes" request=${{ processType: SUPERVISOR }} show=${show} />`;
}

