// Commands that wait for remote workers, and their completion by hand.
import { html } from "../html.js";
import { ActionButton, may } from "../actions.js";
import { Ago, Filters, Foreign, List, Pid, Table } from "../parts.js";
import { payloadText } from "../text.js";
import { whyYieldWaits } from "../waits.js";
import { completeAction, yieldErrorAction } from "./process_actions.js";

/** @param {any} app */
const tableFor = (app) => (rows, reload) => {
  const now = Date.now();
  const canAct = may(app, "CompleteYield");
  const heads = ["Waits", "Command", "Process", "Type", "Why", "Payload"];
  return html`<${Table} stacks=${true} caption="Waiting commands" empty="No command waits." heads=${canAct ? [...heads, "Actions"] : heads}
    rows=${rows.map((one) => [
      html`<${Ago} time=${one.createTime} />`,
      html`<${Foreign} text=${one.command} most=${60} />`,
      html`<${Pid} pid=${one.pid} />`,
      html`<${Foreign} text=${one.processType} most=${60} />`,
      html`<bdi class="why">${whyYieldWaits(one, now)}</bdi>`,
      html`<pre tabindex="0">${payloadText(one.payload)}</pre>`,
      ...(canAct ? [html`<${ActionButton} app=${app} action=${completeAction(one)} onDone=${reload} /> <${ActionButton} app=${app} action=${yieldErrorAction(one)} onDone=${reload} />`] : []),
    ])} />`;
};

/** @param {{app: any, query: URLSearchParams}} props */
export function Yields({ app, query }) {
  return html`
    <${Filters} query=${query} path="yields" fields=${[{ name: "command", label: "Command, or prefix and *" }, { name: "pid", label: "PID" }]} />
    <${List} method="ListYields" field="yields" request=${{ command: query.get("command") ?? "", pid: query.get("pid") ?? "" }} show=${tableFor(app)} />
    <p class="quiet">Oldest first. The same from a shell: <code>actorctl yields</code></p>`;
}
