// Messages that reached nobody: sent again, or dropped.
import { html } from "../html.js";
import { ActionButton, may } from "../actions.js";
import { actorctl } from "../commands.js";
import { Ago, Filters, Foreign, List, Pid, Table } from "../parts.js";
import { bytes, counted, payloadText, word } from "../text.js";

const REASONS = ["UNKNOWN_PROCESS", "ENDED", "MAILBOX_FULL", "DROPPED_AT_END"];

/** @param {any} letter @returns {import("../actions.js").Action} */
const resendAction = (letter) => ({
  label: "Resend",
  title: `Send dead letter ${letter.id} again`,
  method: "ResendDeadLetter",
  fields: [{ name: "to", label: "To another process: PID or @name (empty: the same)" }],
  request: ({ to }) => ({ id: letter.id, to }),
  command: ({ to }) => actorctl("dead-letters", "resend", letter.id, to ? `--to=${to}` : ""),
  said: (answer) => `The message was sent to ${answer.pid}.`,
});

/** @param {any} letter @returns {import("../actions.js").Action} */
const dropAction = (letter) => ({
  label: "Drop",
  title: `Drop dead letter ${letter.id}`,
  method: "DropDeadLetters",
  isDangerous: true,
  request: () => ({ ids: [letter.id] }),
  command: () => actorctl("dead-letters", "drop", letter.id),
  said: (answer) => `${counted(answer.droppedCount, "dead letter")} dropped.`,
});

/** @param {any} app */
const tableFor = (app) => (rows, reload) => {
  const canAct = may(app, "ResendDeadLetter");
  const heads = ["Age", "Id", "Topic", "To", "From", "Reason", "#Size", "Payload"];
  return html`<${Table} stacks=${true} caption="Dead letters" empty="No dead letter is kept." heads=${canAct ? [...heads, "Actions"] : heads}
    rows=${rows.map((one) => [
      html`<${Ago} time=${one.createTime} />`, one.id,
      html`<${Foreign} text=${one.topic} most=${60} />`,
      html`<${Pid} pid=${one.toPid} />`, html`<${Pid} pid=${one.fromPid} />`,
      word(one.reason, "DEAD_LETTER_REASON_"), bytes(one.payloadBytes),
      html`<pre tabindex="0">${payloadText(one.payload)}</pre>`,
      ...(canAct ? [html`<${ActionButton} app=${app} action=${resendAction(one)} onDone=${reload} /> <${ActionButton} app=${app} action=${dropAction(one)} onDone=${reload} />`] : []),
    ])} />
    ${rows.length > 0 && html`<p class="quiet">The table shows the beginning of each payload.</p>`}`;
};

/** @param {{app: any, query: URLSearchParams}} props */
export function Letters({ app, query }) {
  const reason = query.get("reason");
  const request = {
    toPid: query.get("to") ?? "",
    reason: reason ? `DEAD_LETTER_REASON_${reason}` : undefined,
    newestFirst: true,
  };
  return html`
    <${Filters} query=${query} path="letters" fields=${[
      { name: "reason", label: "Reason", options: [["", "all"], ...REASONS.map((one) => [one, word(one, "")])] },
      { name: "to", label: "To PID" },
    ]} />
    <${List} method="ListDeadLetters" field="deadLetters" request=${request} show=${tableFor(app)} />
    <p class="quiet">The same from a shell: <code>actorctl dead-letters list</code></p>`;
}
