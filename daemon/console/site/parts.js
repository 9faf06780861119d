// Small parts that the views share.
import { Component, html } from "./html.js";
import { page } from "./api.js";
import { ErrorBox, Polled } from "./polled.js";
import { clock, duration, msOf, shown, word } from "./text.js";

/** @param {string} pid */
export const processHref = (pid) => `#/process/${encodeURIComponent(pid)}`;

/** @param {{pid?: string}} props */
export const Pid = ({ pid }) =>
  pid ? html`<a class="pid" href=${processHref(pid)}>${shown(pid)}</a>` : html`<span class="quiet">–</span>`;

/** Text of a stranger. @param {{text?: string, most?: number}} props */
export const Foreign = ({ text, most }) => html`<bdi>${shown(text ?? "", { most })}</bdi>`;

/** How long ago. @param {{time?: string}} props */
export const Ago = ({ time }) =>
  time
    ? html`<time datetime=${time} title=${time}>${duration(Math.max(0, (Date.now() - msOf(time)) / 1000))}</time>`
    : html`<span class="quiet">–</span>`;

/** @param {{time?: string}} props */
export const Past = ({ time }) => (time ? html`<${Ago} time=${time} /> ago` : html`<${Ago} />`);

/** @param {{time?: string}} props */
export const Clock = ({ time }) => html`<time datetime=${time} title=${time}>${clock(time)}</time>`;

/** @param {{state: string}} props */
export const State = ({ state }) => {
  const text = word(state, "PROCESS_STATE_");
  return html`<span class="state state-${text}">${text}</span>`;
};

// A cell without a value. Where cells are lines of their own it is left out.
const NONE = "–";

/**
 * @param {{caption: string, heads: any[], rows: any[], empty: string, stacks?: boolean}} props rows:
 *     arrays of cells. A head that begins with # is above numbers. stacks: on a
 *     narrow screen each cell is a line of its own, behind its head.
 */
export function Table({ caption, heads, rows, empty, stacks = false }) {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table class=${stacks ? "stacks" : ""}>
        <caption class="hidden">${caption}</caption>
        <thead>
          <tr>${heads.map((head) => html`<th scope="col" class=${head.startsWith("#") ? "number" : ""}>${head.replace("#", "")}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map((cells) => html`<tr>${cells.map((cell, i) => html`<td class=${`${heads[i].startsWith("#") ? "number" : ""} ${cell === NONE ? "none" : ""}`} data-head=${heads[i].replace("#", "")}>${cell}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`;
}

/** @param {{facts: [string, any][]}} props */
export const Facts = ({ facts }) => html`
  <dl class="facts">
    ${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;

export const PAGE_ROWS = 50;

/** One page of a list, asked for again and again. */
class Page extends Polled {
  keyOf({ method, request, token }) {
    return JSON.stringify([method, request, token]);
  }

  async load({ method, field, request, token, onPage }, signal) {
    const found = await page(method, field, { pageSize: PAGE_ROWS, ...request, pageToken: token }, signal);
    onPage(found.next);
    return found;
  }

  view({ rows, isCut }, { show }) {
    return html`${show(rows, this.reload)}
      ${isCut && html`<p class="quiet">Few processes match; there may be more on the next page.</p>`}`;
  }
}

/**
 * A list of the daemon, page by page. A change of the request begins anew.
 * @typedef {{method: string, field: string, request: object,
 *   show: (rows: any[], reload: () => void) => any}} ListProps
 */
export class List extends Component {
  state = { tokens: [""], next: "", of: "" };

  static getDerivedStateFromProps(props, state) {
    const of = JSON.stringify([props.method, props.request]);
    return of === state.of ? null : { tokens: [""], next: "", of };
  }

  #onPage = (next) => this.setState({ next });
  #onward = () => this.setState(({ tokens, next }) => ({ tokens: [...tokens, next], next: "" }));
  #back = () => this.setState(({ tokens }) => ({ tokens: tokens.slice(0, -1), next: "" }));

  render({ method, field, request, show }, { tokens, next }) {
    return html`
      <${Page} method=${method} field=${field} request=${request} show=${show}
        token=${tokens.at(-1)} onPage=${this.#onPage} />
      ${(tokens.length > 1 || next) && html`
        <nav class="pager" aria-label="Pages">
          <button type="button" disabled=${tokens.length === 1} onClick=${this.#back}>Previous</button>
          <span>Page ${tokens.length}</span>
          <button type="button" disabled=${!next} onClick=${this.#onward}>Next</button>
        </nav>`}`;
  }
}

/**
 * Filters that stand in the address of the page, so that they can be linked to. A
 * choice applies at once, so a button is there for texts alone.
 * @param {{query: URLSearchParams, path: string, fields: {name: string, label: string,
 *   options?: [string, string][]}[]}} props
 */
export function Filters({ query, path, fields }) {
  const apply = (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, value] of new FormData(event.currentTarget)) {
      if (value) next.set(name, String(value).trim());
    }
    location.hash = `#/${path}?${next}`;
  };
  return html`
    <form class="filters" onSubmit=${apply}>
      ${fields.map(({ name, label, options }) => html`
        <label>${label}
          ${options
            ? html`<select name=${name} value=${query.get(name) ?? ""} onChange=${(event) => event.currentTarget.form.requestSubmit()}>
                ${options.map(([value, text]) => html`<option value=${value} selected=${value === (query.get(name) ?? "")}>${text}</option>`)}
              </select>`
            : html`<input name=${name} value=${query.get(name) ?? ""} autocomplete="off" spellcheck=${false} />`}
        </label>`)}
      ${fields.some(({ options }) => !options) && html`<button type="submit">Filter</button>`}
    </form>`;
}

/** @param {any} app @returns {[string, string][]} */
export const typeOptions = (app) => [
  ["", "all"],
  ...(app.status?.processTypes ?? []).map(({ name }) => [name, shown(name, { most: 40 })]),
];

export { ErrorBox };
