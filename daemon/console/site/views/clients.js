// Connected clients, and the quotas that refuse calls.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { actorctl } from "../commands.js";
import { Ago, Facts, Foreign, List, Table } from "../parts.js";
import { bytes, count, word } from "../text.js";

/** @param {any} client @returns {import("../actions.js").Action} */
const cutAction = (client) => ({
  label: "Cut",
  title: `Cut connection ${client.connection}`,
  method: "CutClient",
  isDangerous: true,
  request: () => ({ connection: client.connection }),
  command: () => actorctl("clients", "cut", client.connection),
  said: () => "The connection is cut. The client may connect again.",
});

/** @param {any} one a Client @returns {string} */
const addressOf = (one) => one.address || (one.unixPeer ? `user ${one.unixPeer.uid ?? 0}, process ${one.unixPeer.pid ?? 0}` : "?");

/** @param {any} app */
const tableFor = (app) => (rows, reload) => html`
  <${Table} caption="Clients" empty="No client is connected over gRPC." heads=${["#Connection", "From", "Token", "Certificate", "State", "Age", "#Received", "#Sent", "#Calls", "#Open", "Actions"]}
    rows=${rows.map((one) => [
      one.connection, html`<${Foreign} text=${addressOf(one)} most=${80} />`,
      one.token ? html`<${Foreign} text=${one.token.name} most=${60} /> (${one.token.role})` : "–",
      html`<${Foreign} text=${one.tls?.name || "–"} most=${80} />`, word(one.state, "CLIENT_STATE_"),
      html`<${Ago} time=${one.connectTime} />`, one.receivedBytes ? bytes(one.receivedBytes) : "–", one.sentBytes ? bytes(one.sentBytes) : "–",
      count(one.callsBegun), count(one.callsOpen),
      html`<${ActionButton} app=${app} action=${cutAction(one)} onDone=${reload} />`,
    ])} />`;

/** @param {{app: any}} props */
export function Clients({ app }) {
  const counters = app.status.counters ?? {};
  return html`
    <p class="quiet">Clients of gRPC. Clients of the JSON API, such as this page, are not among them.</p>
    <${List} method="ListClients" field="clients" request=${{}} show=${tableFor(app)} />
    <h2>Quotas and refusals</h2>
    <${Facts} facts=${[
      ["Calls above a quota", count(counters.clientQuotaLimitTotal)],
      ["Delayed reads of streams", count(counters.clientQuotaDelaysTotal)],
      ["Processes above a quota", count(counters.processOwnerLimitTotal)],
      ["Messages above a quota", count(counters.mailboxOwnerLimitTotal)],
      ["Commands above a quota", count(counters.yieldOwnerLimitTotal)],
      ["Calls without a valid token", count(counters.callsUnauthenticatedTotal)],
      ["Calls that a role does not permit", count(counters.callsDeniedTotal)],
      ["Connections refused at a limit", count(Number(counters.connectionLimitTotal ?? 0) + Number(counters.connectionAddressLimitTotal ?? 0) + Number(counters.connectionDescriptorLimitTotal ?? 0))],
    ]} />`;
}
