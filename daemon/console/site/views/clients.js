// Connected clients, and the quotas that refuse calls.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { actorctl } from "../commands.js";
import { Ago, Facts, Filters, Foreign, List, Table } from "../parts.js";
import { bytes, count, word } from "../text.js";

/** @param {any} client @returns {import("../actions.js").Action} */
const cutAction = (client) => ({
  label: "Cut",
  title: `Cut connection ${client.connection}`,
  method: "CutClient",
  isDangerous: true,
  request: () => ({ connection: client.connection }),
  command: () => actorctl("clients", "--cut", client.connection),
  said: () => "The connection is cut. The client may connect again.",
});

/** @param {any} one a Client @returns {string} */
const addressOf = (one) => one.address || (one.unixPeer ? `user ${one.unixPeer.uid ?? 0}, process ${one.unixPeer.pid ?? 0}` : "?");

const RATES = /** @type {const} */ (["callsBegun", "streamItems", "receivedBytes", "sentBytes"]);

/** The rates of clients: what has changed since the answer before. */
class Rates {
  #rows = null;
  #at = 0;
  /** @type {Map<string, any>} */
  #before = new Map();
  /** @type {Map<string, Record<string, number>>} */
  #rates = new Map();

  /** @param {any[]} rows @returns {Map<string, Record<string, number>>} by connection */
  of(rows) {
    if (rows === this.#rows) return this.#rates;
    const now = performance.now();
    const seconds = (now - this.#at) / 1000;
    this.#rates = new Map(rows.filter((one) => this.#before.has(one.connection)).map((one) => {
      const before = this.#before.get(one.connection);
      const rates = RATES.filter((name) => one[name] !== undefined && before[name] !== undefined)
        .map((name) => [name, Math.max(0, Number(one[name]) - Number(before[name])) / seconds]);
      return [one.connection, Object.fromEntries(rates)];
    }));
    this.#rows = rows;
    this.#at = now;
    this.#before = new Map(rows.map((one) => [one.connection, one]));
    return this.#rates;
  }
}
const rates = new Rates();

/** @param {number|undefined} rate @param {(value: number) => string} text */
const perSecond = (rate, text) => (rate === undefined ? "–" : text(Math.round(rate)));

const SORTS = [["", "Connection"], ["callsBegun", "Calls/s"], ["streamItems", "Items/s"], ["receivedBytes", "Received/s"], ["sentBytes", "Sent/s"]];

/** @param {any} app @param {string} sort */
const tableFor = (app, sort) => (rows, reload) => {
  const of = rates.of(rows);
  const rate = (one, name) => of.get(one.connection)?.[name];
  const sorted = sort ? [...rows].sort((a, b) => (rate(b, sort) ?? -1) - (rate(a, sort) ?? -1)) : rows;
  return html`
  <${Table} caption="Clients" empty="No client is connected." heads=${["#Connection", "From", "Protocol", "Token", "Certificate", "State", "Age", "#Calls/s", "#Items/s", "#Received/s", "#Sent/s", "#Received", "#Sent", "#Calls", "#Open", "Actions"]}
    rows=${sorted.map((one) => [
      one.connection, html`<${Foreign} text=${addressOf(one)} most=${80} />`, word(one.protocol, "CLIENT_PROTOCOL_"),
      one.token ? html`<${Foreign} text=${one.token.name} most=${60} /> (${one.token.role})` : "–",
      html`<${Foreign} text=${one.tls?.name || "–"} most=${80} />`, word(one.state, "CLIENT_STATE_"),
      html`<${Ago} time=${one.connectTime} />`,
      perSecond(rate(one, "callsBegun"), count), perSecond(rate(one, "streamItems"), count),
      perSecond(rate(one, "receivedBytes"), bytes), perSecond(rate(one, "sentBytes"), bytes),
      one.receivedBytes ? bytes(one.receivedBytes) : "–", one.sentBytes ? bytes(one.sentBytes) : "–",
      count(one.callsBegun), count(one.callsOpen),
      html`<${ActionButton} app=${app} action=${cutAction(one)} onDone=${reload} />`,
    ])} />`;
};

/** @param {{app: any, query: URLSearchParams}} props */
export function Clients({ app, query }) {
  const sort = SORTS.some(([name]) => name === query.get("sort")) ? query.get("sort") ?? "" : "";
  const counters = app.status.counters ?? {};
  return html`
    <p class="quiet">Clients of gRPC, and of the admin port (http), such as this page. Rates are of the last seconds. The same from a shell: <code>actorctl clients --rates</code></p>
    <${Filters} query=${query} path="clients" fields=${[{ name: "sort", label: "Sort the page by", options: SORTS }]} />
    <${List} method="ListClients" field="clients" request=${{}} show=${tableFor(app, sort)} />
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
