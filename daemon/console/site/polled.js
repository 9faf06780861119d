// Parts of the page that ask the daemon again and again: only while somebody
// can see them, and not while the console is paused.
import { Component, html } from "./html.js";
import { shown } from "./text.js";

const TICK_MS = 1000;
// A slow list is polled rarely, so that polling takes at most 1/REST of the time.
// But the pause between two polls is at most LONGEST_REST_MS, also after a very slow
// answer.
const REST = 20;
const LONGEST_REST_MS = 20_000;

class Ticker {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  isPaused = false;

  constructor() {
    setInterval(() => this.tick(), TICK_MS);
    document.addEventListener("visibilitychange", () => this.tick());
  }

  tick() {
    if (this.isPaused || document.hidden) return;
    for (const listener of [...this.#listeners]) listener();
  }

  /** @param {() => void} listener */
  add(listener) {
    this.#listeners.add(listener);
  }

  /** @param {() => void} listener */
  remove(listener) {
    this.#listeners.delete(listener);
  }
}

export const ticker = new Ticker();

/**
 * A component whose `load` fetches state.data each `everyMs`. It is loaded at once
 * when `keyOf(props)` changes. After an error the last data stay, with the error.
 * The shown data always belong to the present key.
 */
export class Polled extends Component {
  everyMs = 5000;
  #tookMs = 0;
  state = { data: null, error: null };
  #last = 0;
  #key = "";
  /** @type {AbortController|null} */
  #running = null;
  #tick = () => {
    const pause = Math.max(this.everyMs, Math.min(REST * this.#tookMs, LONGEST_REST_MS));
    if (!this.#running && performance.now() - this.#last >= pause) this.reload();
  };

  /** @param {any} _props @returns {string} */
  keyOf(_props) {
    return "";
  }

  /** @param {any} _props @param {AbortSignal} _signal @returns {Promise<any>} */
  load(_props, _signal) {
    return Promise.resolve(null);
  }

  /** @param {any} _data @param {any} _props */
  view(_data, _props) {
    return null;
  }

  componentDidMount() {
    this.#key = this.keyOf(this.props);
    ticker.add(this.#tick);
    this.reload();
  }

  componentDidUpdate() {
    const key = this.keyOf(this.props);
    if (key === this.#key) return;
    this.#key = key;
    this.setState({ data: null, error: null });
    this.reload();
  }

  componentWillUnmount() {
    ticker.remove(this.#tick);
    this.#running?.abort();
  }

  reload = async () => {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    const began = performance.now();
    let next = {};
    try {
      next = { data: await this.load(this.props, running.signal), error: null };
    } catch (error) {
      next = { error };
    }
    if (running.signal.aborted) return;
    this.#running = null;
    this.#last = performance.now();
    // An answer that has failed says nothing about the next one.
    this.#tookMs = next.error ? 0 : this.#last - began;
    this.setState(next);
  };

  render() {
    const { data, error } = this.state;
    return html`
      ${error && html`<${ErrorBox} error=${error} />`}
      ${data === null ? !error && html`<p class="quiet">Loading…</p>` : this.view(data, this.props)}
    `;
  }
}

/** @param {{error: any}} props */
export function ErrorBox({ error }) {
  const reason = error.reason ? ` (${error.reason})` : "";
  return html`<p class="error" role="alert">${shown(String(error.message ?? error))}${reason}</p>`;
}
