// The failures that the daemon keeps, newest first.
import { html } from "../html.js";
import { Filters, Foreign, List, Past, Pid, Table, typeOptions } from "../parts.js";
import { count, failureText, word } from "../text.js";

/** @param {any[]} rows */
const table = (rows) => html`
  <${Table} caption="Failures" empty="No failure is kept." stacks=${true} heads=${["Ended", "Type", "Name", "Process", "How", "Why", "#Steps", "First failure"]}
    rows=${rows.map((one) => [
      html`<${Past} time=${one.endTime} />`,
      html`<${Foreign} text=${one.processType} most=${60} />`,
      html`<${Foreign} text=${one.name ? `@${one.name}` : "–"} most=${60} />`,
      html`<${Pid} pid=${one.pid} />`,
      word(one.failure?.reason, "FAILURE_REASON_"),
      html`<bdi class="why failed">${failureText(one.failure)}</bdi>`,
      count(one.steps),
      html`<${Pid} pid=${one.firstCausePid || one.linkedPid} />`,
    ])} />`;

/** @param {{app: any, query: URLSearchParams}} props */
export function Failing({ app, query }) {
  const request = { processType: query.get("type") ?? "", newestFirst: true };
  return html`
    <${Filters} query=${query} path="failing" fields=${[{ name: "type", label: "Type", options: typeOptions(app) }]} />
    <${List} method="ListFailures" field="failures" request=${request} show=${table} />
    <p class="quiet">The daemon keeps the newest failures. The same from a shell: <code>actorctl failures --newest</code>, or counted: <code>actorctl failures --summary</code></p>`;
}
