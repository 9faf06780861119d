// The newest lines of the daemon's log.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { call } from "../api.js";
import { actorctl } from "../commands.js";
import { Filters } from "../parts.js";
import { Polled } from "../polled.js";
import { shown, utc, word } from "../text.js";

const MOST = 500;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"];
const PAGES = 4;

/** @type {import("../actions.js").Action} */
const SET_LEVEL = {
  label: "Set the level",
  title: "Set the level of the log",
  method: "SetLogLevel",
  fields: [{ name: "level", label: "Level", value: "INFO", options: LEVELS }],
  request: ({ level }) => ({ level: `LOG_LEVEL_${level}` }),
  command: ({ level }) => actorctl("log-level", level.toLowerCase()),
  said: (answer) => `The level is ${word(answer.level, "LOG_LEVEL_")}.`,
};

class Lines extends Polled {
  everyMs = 2000;
  /** @type {any[]} */
  #lines = [];
  #of = "";

  keyOf({ minLevel }) {
    return minLevel;
  }

  /** Reads the lines that are new since the last time. */
  async load({ minLevel }, signal) {
    if (minLevel !== this.#of) this.#lines = [];
    this.#of = minLevel;
    const afterId = this.#lines.at(-1)?.id ?? "";
    let pageToken = "";
    let level = "";
    for (let i = 0; i < PAGES; i += 1) {
      const answer = await call("ListLogLines", { minLevel: `LOG_LEVEL_${minLevel}`, afterId, pageToken, pageSize: 1000 }, { signal });
      level = answer.level;
      // Lines of a run before stay, as this page has seen them.
      this.#lines = [...this.#lines, ...(answer.lines ?? [])].slice(-MOST);
      pageToken = answer.nextPageToken ?? "";
      if (!pageToken) break;
    }
    return { lines: [...this.#lines].reverse(), level };
  }

  view({ lines, level }) {
    return html`
      <p class="quiet">The level in force is ${word(level, "LOG_LEVEL_")}. Newest first, at most ${MOST} lines. Times are UTC.</p>
      ${lines.length === 0 ? html`<p>No line of this level.</p>` : html`<ol class="log" tabindex="0" aria-label="Lines of the log">
        ${lines.map((one) => html`<li key=${one.id} class=${`log-${word(one.level, "LOG_LEVEL_")}`}><time datetime=${one.time}>${utc(one.time)}</time> <strong>${word(one.level, "LOG_LEVEL_")}</strong> <bdi>${shown(one.text ?? "")}</bdi></li>`)}
      </ol>`}`;
  }
}

/** @param {{app: any, query: URLSearchParams}} props */
export function Logs({ app, query }) {
  const minLevel = LEVELS.includes(query.get("level") ?? "") ? query.get("level") : "DEBUG";
  return html`
    <${Filters} query=${query} path="logs" fields=${[{ name: "level", label: "Level", options: [["", "all"], ...LEVELS.slice(1).map((one) => [one, `${one.toLowerCase()} and above`])] }]} />
    <div class="buttons"><${ActionButton} app=${app} action=${SET_LEVEL} /></div>
    <${Lines} minLevel=${minLevel} />`;
}
