// The timeline of one process, drawn to scale, and the list of its steps.
import { html } from "../html.js";
import { isFailed, kindOf, stepsOf } from "../history.js";
import { Clock, Foreign, Pid } from "../parts.js";
import { bytes, codeName, duration, msOf, payloadText, word } from "../text.js";

const WIDTH = 1000;
const HEIGHT = 14;
const MOST_SPANS = 40;
const MOST_STEPS = 200;

/** @typedef {import("../history.js").Span} Span */

/** @param {Span} span @returns {string} */
const lookOf = (span) => (span.isFailed ? "failed" : span.isPending ? "pending" : span.kind);

/** @param {{span: Span, from: number, to: number}} props */
function Bar({ span, from, to }) {
  const scale = WIDTH / Math.max(1, to - from);
  const x = Math.max(0, (span.from - from) * scale);
  const width = Math.max(3, (span.to - span.from) * scale);
  return html`<rect class=${`bar-${lookOf(span)}`} x=${Math.min(x, WIDTH - 3)} y="2" width=${width} height=${HEIGHT - 4} />`;
}

/**
 * @param {{spans: Span[], steps: number[], failed: number[], from: number, to: number}} props
 *     steps, failed: times in ms
 */
export function Timeline({ spans, steps, failed, from, to }) {
  // Pending spans come first, then the newest ones.
  const drawn = [...spans].sort((a, b) => Number(b.isPending) - Number(a.isPending) || b.from - a.from)
    .slice(0, MOST_SPANS);
  const scale = WIDTH / Math.max(1, to - from);
  const box = `0 0 ${WIDTH} ${HEIGHT}`;
  return html`
    <div class="timeline">
      <p class="quiet">${duration((to - from) / 1000)}, to scale.</p>
      ${steps.length > 0 && html`
        <div class="span">
          <span class="name">steps</span>
          <svg viewBox=${box} preserveAspectRatio="none" role="img" aria-label=${`${steps.length} steps, ${failed.length} failed`}>
            ${steps.map((at) => html`<rect class="bar-step" x=${(at - from) * scale} y="1" width="2" height=${HEIGHT - 2} />`)}
            ${failed.map((at) => html`<rect class="bar-failed" x=${Math.min((at - from) * scale, WIDTH - 6)} y="0" width="6" height=${HEIGHT} />`)}
          </svg>
          <span class="long">${steps.length}</span>
        </div>`}
      ${drawn.map((span) => html`
        <div class="span">
          <span class="name"><${Foreign} text=${span.name} most=${60} /></span>
          <svg viewBox=${box} preserveAspectRatio="none" role="img" aria-label=${`${lookOf(span)}, ${duration((span.to - span.from) / 1000)}`}>
            <${Bar} span=${span} from=${from} to=${to} />
          </svg>
          <span class="long">${duration((span.to - span.from) / 1000)}${span.isPending ? " so far" : ""}${span.isFailed ? ", failed" : ""}</span>
        </div>`)}
      ${spans.length > drawn.length && html`<p class="quiet">${spans.length - drawn.length} more commands are not drawn.</p>`}
    </div>`;
}

// What the console calls otherwise than the history does.
const KINDS = { YIELD: "command", CANCEL_YIELD: "cancelled command", PENDING_YIELD: "pending command", CALL_OUT: "call to" };
// How a step has ended.
const STEP_ENDS = {
  idle: "The step has ended, and the process waits for a message or a completion.",
  block: "The step has ended, and the process takes no message before a command or call of it completes.",
  continue: "The step has ended, and the process takes its next step at once.",
  done: "The step has ended the process with a result.",
  fail: "The step has ended the process with a failure.",
  threw: "The code of the step has thrown an exception.",
};

/** @param {{entry: any}} props */
const Detail = ({ entry }) => {
  const title = kindOf(entry) === "STEP" ? STEP_ENDS[entry.detail] : undefined;
  return html`<span title=${title}><${Foreign} text=${entry.detail} most=${200} /></span>`;
};

/** @param {{entry: any}} props */
function Entry({ entry }) {
  const text = payloadText(entry.payload);
  const code = entry.code ? `${codeName(entry.code)} ` : "";
  return html`
    <li class=${isFailed(entry) ? "failed" : ""}>
      <strong>${KINDS[kindOf(entry)] ?? word(kindOf(entry), "")}</strong>
      ${entry.name && html` <${Foreign} text=${entry.name} most=${200} />`}
      ${entry.detail && html` <${Detail} entry=${entry} />`}
      ${entry.tag && entry.tag !== "0" && html` <span class="quiet">#${entry.tag}</span>`}
      ${entry.peerPid && html` <${Pid} pid=${entry.peerPid} />`}
      ${entry.worker && html` by <${Foreign} text=${entry.worker} />`}
      ${(code || entry.message) && html` <span>${code}<${Foreign} text=${entry.message} most=${500} /></span>`}
      ${!text && Number(entry.payloadBytes) > 0 && html` <span class="quiet">${bytes(entry.payloadBytes)}</span>`}
      ${entry.duration && html` <span class="quiet">in ${entry.duration}</span>`}
      ${text && html`<pre tabindex="0">${text}</pre>`}
    </li>`;
}

/** @param {{history: {entries: any[], dropped: number, isCut: boolean}}} props */
export function Steps({ history }) {
  const all = stepsOf(history.entries);
  const groups = all.slice(-MOST_STEPS).reverse();
  const hidden = all.length - groups.length;
  return html`
    ${history.isCut && html`<p class="error">The history is too long to read to its end here: use actorctl history.</p>`}
    <ol class="steps">
      ${groups.map((group) => html`
        <li>
          <p><strong>${group.step === "0" ? "Start" : `Step ${group.step}`}</strong> <${Clock} time=${group.time} /></p>
          <ul>${group.entries.map((entry) => html`<${Entry} entry=${entry} />`)}</ul>
        </li>`)}
    </ol>
    ${(hidden > 0 || history.dropped > 0) && html`<p class="quiet">Older steps are not shown: use actorctl history.</p>`}`;
}

/** @param {any[]} entries @returns {{steps: number[], failed: number[]}} */
export function marksOf(entries) {
  const times = (list) => list.map((entry) => msOf(entry.time)).filter(Number.isFinite);
  const steps = entries.filter((entry) => kindOf(entry) === "STEP");
  return { steps: times(steps), failed: times(entries.filter(isFailed)) };
}

