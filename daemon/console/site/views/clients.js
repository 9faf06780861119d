// Connected clients, and the quotas that refuse calls.
import { html } from "../html.js";
import { ActionButton, may } from "../actions.js";
import { actorctl } from "../commands.js";
import { Ago, Facts, Filters, Foreign, List, Table } from "../parts.js";
import { bytes, count, counted, word } from "../text.js";

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

const SORTS = [["", "Calls/s"], ["streamItems", "Items/s"], ["receivedBytes", "Received/s"], ["sentBytes", "Sent/s"], ["connection", "Connection"]];
const CONNECTIONS = 200;

/** @param {any} one a Client @returns {string} */
const hostOf = (one) => (one.address ?? "").replace(/:\d+$/, "");

/**
 * Whether the connection is one of this page. A browser has several of them, and the
 * daemon knows only which one has carried the call.
 * @param {any} one a Client @param {any} own the Client that has carried the call
 */
const isOfPage = (one, own) => one.isOwn || (Boolean(own) && one.protocol === "CLIENT_PROTOCOL_HTTP" &&
  hostOf(one) === hostOf(own) && (!one.token || one.token.id === own.token?.id));

/** @param {any} one a Client @returns {string} */
const ownerOf = (one) => one.token?.name || one.tls?.name || "";

/**
 * Connections and rates by client.
 * @param {any[]} rows @param {(one: any, name: string) => number|undefined} rate
 * @returns {{owner: string, role: string, connections: number, open: number, rates: Record<string, number|undefined>}[]}
 */
function sumsOf(rows, rate) {
  const sums = new Map();
  for (const one of rows) {
    const owner = ownerOf(one);
    const sum = sums.get(owner) ?? { owner, role: one.token?.role ?? "", connections: 0, open: 0, rates: {} };
    sums.set(owner, sum);
    sum.connections += 1;
    sum.open += Number(one.callsOpen ?? 0);
    for (const name of RATES) {
      const value = rate(one, name);
      if (value !== undefined) sum.rates[name] = (sum.rates[name] ?? 0) + value;
    }
  }
  return [...sums.values()];
}

const RATE_HEADS = ["#Calls/s", "#Items/s", "#Received/s", "#Sent/s"];
const rateCells = (of) => [perSecond(of("callsBegun"), count), perSecond(of("streamItems"), count),
  perSecond(of("receivedBytes"), bytes), perSecond(of("sentBytes"), bytes)];

/** @param {string} owner @param {string|undefined} role */
const ownerText = (owner, role) => (owner ? html`<${Foreign} text=${owner} most=${60} />${role && ` (${role})`}` : html`<span class="quiet">without a token</span>`);

/** @param {any} app @param {string} sort @param {boolean} isPageShown */
const tableFor = (app, sort, isPageShown) => (all, reload) => {
  const of = rates.of(all);
  const rate = (one, name) => of.get(one.connection)?.[name];
  const own = all.find((one) => one.isOwn);
  const rows = isPageShown ? [...all] : all.filter((one) => !isOfPage(one, own));
  const hidden = all.length - rows.length;
  const by = (value) => (a, b) => (value(b) ?? -1) - (value(a) ?? -1);
  const sums = sumsOf(rows, rate).sort(by((one) => (sort === "connection" ? one.connections : one.rates[sort])));
  if (sort !== "connection") rows.sort(by((one) => rate(one, sort)));
  const canCut = may(app, "CutClient");
  const heads = ["#Connection", "Client", ...RATE_HEADS, "From", "Protocol", "Certificate", "State", "Age", "#Received", "#Sent", "#Calls", "#Open"];
  return html`
  <h2>By client</h2>
  <${Table} stacks=${true} caption="By client" empty="No client is connected." heads=${["Client", "#Connections", ...RATE_HEADS, "#Open calls"]}
    rows=${sums.map((one) => [ownerText(one.owner, one.role), count(one.connections), ...rateCells((name) => one.rates[name]), count(one.open)])} />
  <h2>Connections</h2>
  <${Table} stacks=${true} caption="Connections" empty="No client is connected." heads=${canCut ? [...heads, "Actions"] : heads}
    rows=${rows.map((one) => [
      one.connection, ownerText(one.token?.name ?? "", one.token?.role), ...rateCells((name) => rate(one, name)),
      html`<${Foreign} text=${addressOf(one)} most=${80} />`, word(one.protocol, "CLIENT_PROTOCOL_"),
      html`<${Foreign} text=${one.tls?.name || "–"} most=${80} />`, word(one.state, "CLIENT_STATE_"),
      html`<${Ago} time=${one.connectTime} />`,
      one.receivedBytes ? bytes(one.receivedBytes) : "–", one.sentBytes ? bytes(one.sentBytes) : "–",
      count(one.callsBegun), count(one.callsOpen),
      ...(canCut ? [html`<${ActionButton} app=${app} action=${cutAction(one)} onDone=${reload} />`] : []),
    ])} />
  ${hidden > 0 && html`<p class="quiet">${counted(hidden, "connection")} of this page ${hidden === 1 ? "is" : "are"} not shown: HTTP from the address of this page, with its token or without one.</p>`}`;
};

/** @param {{app: any, query: URLSearchParams}} props */
export function Clients({ app, query }) {
  const sort = SORTS.some(([name]) => name === query.get("sort")) && query.get("sort") || "callsBegun";
  const counters = app.status.counters ?? {};
  return html`
    <p class="quiet">Clients of gRPC, and of the admin port (http). Rates are of the last seconds. The same from a shell: <code>actorctl clients --sort calls</code></p>
    <${Filters} query=${query} path="clients" fields=${[
      { name: "sort", label: "Sort the page by", options: SORTS },
      { name: "page", label: "Connections of this page", options: [["", "hidden"], ["shown", "shown"]] },
    ]} />
    <${List} method="ListClients" field="clients" request=${{ pageSize: CONNECTIONS }} show=${tableFor(app, sort, query.get("page") === "shown")} />
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
