// One process: the reason of its wait, its timeline, and its actions.
import { html } from "../html.js";
import { ActionButton, may } from "../actions.js";
import { call, page } from "../api.js";
import { calleeText, callerText } from "../calls.js";
import { readHistory, spansOf } from "../history.js";
import { Ago, Clock, Facts, Foreign, Pid, State, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { bytes, count, counted, duration, failureText, msOf, payloadText, secondsOf, shown, word } from "../text.js";
import { waitSentence, whyYieldWaits } from "../waits.js";
import { completeAction, processActions, yieldErrorAction } from "./process_actions.js";
import { Steps, Timeline, marksOf } from "./timeline.js";

const FEW = 20;
const NOT_DURABLE = "NOT_DURABLE";
const ENDED = new Set(["PROCESS_ENDED", "RESULT_NOT_KEPT"]);
const HISTORY_MS = 10_000;
// The daemon examines 65,536 yields for a page.
const CALL_PAGES = 4;
const LOG_PAGES = 3;
const MOST_LINES = 20;
// A shorter life has no scale that tells anything.
const LEAST_DRAWN_MS = 1;

/** @param {Promise<any>} promise @returns {Promise<any>} null if it fails */
const orNull = (promise) => promise.catch(() => null);

/** The newest lines of the log that name the process. */
async function linesAbout(pid, signal) {
  const found = [];
  let pageToken = "";
  for (let i = 0; i < LOG_PAGES; i += 1) {
    const answer = await orNull(call("ListLogLines", { pageSize: 1000, pageToken }, { signal }));
    found.push(...(answer?.lines ?? []).filter(({ text }) => text.includes(pid)));
    pageToken = answer?.nextPageToken ?? "";
    if (!pageToken) break;
  }
  return found.slice(-MOST_LINES).reverse();
}

export class ProcessView extends Polled {
  everyMs = 3000;
  /** @type {any} */
  #history = null;
  #historyOf = "";
  #historyAt = 0;
  // Of the process that has ended: nothing of it changes any more.
  #endedPid = "";
  #receipt = "";

  keyOf({ pid }) {
    return pid;
  }

  /** Read again if a step was taken, but seldom. */
  async #readHistory(pid, steps, signal) {
    const of = `${pid} ${steps}`;
    const isYoung = performance.now() - this.#historyAt < HISTORY_MS && this.#historyOf.startsWith(`${pid} `);
    if (this.#historyOf === of || (isYoung && this.#history)) return this.#history;
    try {
      this.#history = await readHistory(pid, signal);
    } catch (error) {
      // Any other error may pass.
      if (error.reason !== NOT_DURABLE) return null;
      this.#history = null;
    }
    this.#historyOf = of;
    this.#historyAt = performance.now();
    return this.#history;
  }

  async load({ app, pid: address }, signal) {
    const get = (method, request) => call(method, request, { signal });
    /** @type {any} */
    const data = { pid: address, process: null, isEnded: false, yields: [], calls: [], owed: [], moreOwed: false, lines: [], children: [], failure: null, letters: [], history: null, outcome: null, recording: null };
    if (this.#endedPid === address) data.isEnded = true;
    else try {
      const found = await get("GetProcess", { pid: address });
      data.process = found.process;
      data.recording = found.recording ?? null;
      // The address may be a name, which lists do not take.
      data.pid = data.process.pid;
    } catch (error) {
      if (!ENDED.has(error.reason)) throw error;
      data.isEnded = true;
      // A name may have another holder later.
      if (!address.startsWith("@")) this.#endedPid = address;
      this.#receipt = "";
    }
    const { pid } = data;
    const calls = (filter) => orNull(page("ListCalls", "calls", { ...filter, pageSize: FEW }, signal, CALL_PAGES));
    const [made, owed, yields, children, failures, letters] = await Promise.all([
      data.isEnded ? null : calls({ pid, withCommands: true }),
      data.isEnded ? null : calls({ calleePid: pid }),
      data.isEnded ? {} : orNull(get("ListYields", { pid, pageSize: FEW })),
      orNull(get("ListProcesses", { parentPid: pid, pageSize: FEW })),
      orNull(get("ListFailures", { pid, pageSize: 1 })),
      orNull(get("ListDeadLetters", { toPid: pid, pageSize: FEW, newestFirst: true })),
    ]);
    data.calls = made?.rows ?? [];
    data.owed = owed?.rows ?? [];
    data.moreOwed = Boolean(owed?.next);
    data.yields = yields?.yields ?? [];
    data.children = children?.processes ?? [];
    data.failure = failures?.failures?.[0] ?? null;
    data.letters = letters?.deadLetters ?? [];
    if (data.isEnded && may(app, "Await")) {
      const answer = await orNull(call("Await", { pid }, { signal, ms: 1000 }));
      data.outcome = answer?.outcome ?? null;
      this.#receipt = answer?.receipt ?? "";
    }
    // Nothing else is known of it.
    if (data.isEnded && !data.failure && !data.outcome && may(app, "ListLogLines")) {
      data.lines = await linesAbout(pid, signal);
    }
    const isDurable = data.process?.durability === "DURABILITY_DURABLE";
    // A volatile process has no history.
    const mayBeDurable = data.isEnded ? this.#receipt !== "RECEIPT_MEMORY" : isDurable;
    if (mayBeDurable && app.hasStore) {
      data.history = await this.#readHistory(pid, data.process?.steps ?? "end", signal);
    }
    return data;
  }

  view(data, { app }) {
    const { pid, process } = data;
    const name = process?.names?.[0];
    return html`
      <h2>${process ? html`<${Foreign} text=${process.processType} most=${100} />${name && html` <${Foreign} text=${`@${name}`} most=${140} />`}` : "A process that has ended"}</h2>
      <p class="pid">${shown(pid)} ${process && html`<${State} state=${process.state} />`}</p>
      ${process && html`<p class="sentence" role="status">${waitSentence(process, data, Date.now())}</p>`}
      ${data.isEnded && html`<${Ended} data=${data} limits=${app.status.limits ?? {}} />`}
      <div class="buttons">
        ${processActions(pid, process, data.recording).map((action) => html`<${ActionButton} app=${app} action=${action} onDone=${this.reload} />`)}
      </div>
      <${Drawn} data=${data} />
      ${(data.failure ?? data.outcome) && html`<${EndedFacts} end=${data.failure ?? data.outcome} />`}
      ${data.yields.length > 0 && html`<${Pending} app=${app} yields=${data.yields} onDone=${this.reload} />`}
      ${data.calls.length > 0 && html`<h3>Processes that it has called</h3><${Calls} calls=${data.calls} of="callee" />`}
      ${data.owed.length > 0 && html`<h3>Callers that wait for its answer</h3><${Calls} calls=${data.owed} of="caller" />`}
      ${process && html`<${Described} process=${process} />`}
      ${data.children.length > 0 && html`
        <h3>Children</h3>
        <${Table} caption="Children" empty="" heads=${["PID", "Type", "State", "Age"]}
          rows=${data.children.map((one) => [html`<${Pid} pid=${one.pid} />`, html`<${Foreign} text=${one.processType} most=${60} />`, html`<${State} state=${one.state} />`, html`<${Ago} time=${one.createTime} />`])} />
        <p><a href=${`#/processes?parent=${encodeURIComponent(pid)}`}>All children</a></p>`}
      ${data.letters.length > 0 && html`<p><a href=${`#/letters?to=${encodeURIComponent(pid)}`}>${counted(data.letters.length, "dead letter")} to it</a></p>`}
      <${LastSteps} app=${app} data=${data} />
      ${data.history && html`<h3>Steps</h3><${Steps} history=${data.history} />`}`;
  }
}

/** The recorded steps of a process; of a failed one, those that its failure has kept. @param {{app: any, data: any}} props */
function LastSteps({ app, data }) {
  const entries = data.recording?.entries ?? data.failure?.lastSteps ?? [];
  if (!data.recording && entries.length === 0) {
    if (!data.process || data.process.durability === "DURABILITY_DURABLE") return null;
    return html`<h3>Last steps</h3><p class="quiet">${may(app, "RecordProcess") ? "Not recorded; press Record." : "Not recorded."}</p>`;
  }
  return html`<h3>Last steps</h3>
    ${data.recording && html`<p class="quiet">Recorded since <${Clock} time=${data.recording.since} />${entries.length === 0 && "; no step since"}.</p>`}
    <${Steps} history=${{ entries, dropped: 0, isCut: false }} />`;
}

/** The known facts about a process that has ended. @param {{end: any}} props */
function EndedFacts({ end }) {
  const lived = (msOf(end.endTime) - msOf(end.createTime)) / 1000;
  /** @type {[string, any][]} */
  const facts = [["Created", html`<${Clock} time=${end.createTime} />`],
    ["Ended", html`<${Clock} time=${end.endTime} />, <${Ago} time=${end.endTime} /> ago`],
    ["Lived", duration(lived)], ["Steps", count(end.steps)]];
  if (end.processType) facts.unshift(["Type", html`<${Foreign} text=${end.processType} most=${100} />`]);
  if (end.name) facts.push(["Name", html`<${Foreign} text=${`@${end.name}`} most=${140} />`]);
  if (end.parentPid) facts.push(["Parent", html`<${Pid} pid=${end.parentPid} />`]);
  if (end.owner) facts.push(["Owner", html`<${Foreign} text=${end.owner} most=${140} />`]);
  return html`<h3>Facts</h3><${Facts} facts=${facts} />`;
}

// Somebody has asked for these ends.
const ASKED_FOR = new Set(["FAILURE_REASON_CANCELLED", "FAILURE_REASON_TERMINATED"]);

/** @param {{data: any, limits: any}} props */
function Ended({ data, limits }) {
  const failure = data.failure?.failure ?? data.outcome?.failure;
  if (failure && ASKED_FOR.has(failure.reason)) {
    return html`<p class="sentence">It was ${word(failure.reason, "FAILURE_REASON_")}: <bdi>${failureText(failure)}</bdi></p>`;
  }
  if (failure) {
    const cause = data.failure?.firstCausePid || data.failure?.linkedPid;
    return html`
      <p class="error">It has failed (${word(failure.reason, "FAILURE_REASON_")}): <bdi>${failureText(failure)}</bdi></p>
      ${cause && html`<p>The first failure was that of <${Pid} pid=${cause} />.</p>`}`;
  }
  if (data.outcome) {
    return html`<p class="sentence">It has ended with a result.</p><pre tabindex="0" role="region" aria-label="result">${payloadText(data.outcome.result)}</pre>`;
  }
  return html`
    <p class="sentence">It has ended, or never was. The daemon keeps no result and no failure of it that you may see.</p>
    <p>The daemon keeps the result of a process for ${duration(secondsOf(limits.resultRetention))}, if nobody has taken it, and the newest ${count(limits.maxFailures)} failures.
      It has no history of a process that is not durable.</p>
    ${data.lines.length > 0 && html`
      <h3>The log about it</h3>
      <ol class="log">${data.lines.map((line) => html`<li class=${`log-${word(line.level, "LOG_LEVEL_")}`}><${Clock} time=${line.time} /> <bdi>${shown(line.text)}</bdi></li>`)}</ol>`}`;
}

/** The timeline, from the history if there is one, else from the process itself. */
function Drawn({ data }) {
  const now = Date.now();
  const { process, history } = data;
  if (history?.entries.length > 0) {
    const times = history.entries.map((entry) => msOf(entry.time)).filter(Number.isFinite);
    const { steps, failed } = marksOf(history.entries);
    if (data.isEnded && Math.max(...times) - Math.min(...times) < LEAST_DRAWN_MS) return null;
    return html`<h3>Timeline</h3><${Timeline} spans=${spansOf(history.entries, now)} steps=${steps} failed=${failed}
      from=${Math.min(...times)} to=${data.isEnded ? Math.max(...times) : now} />`;
  }
  const begun = msOf(process?.createTime);
  // A life alone is one full bar, and the facts say how long it is.
  if (!Number.isFinite(begun) || data.yields.length === 0) return null;
  const life = { name: "life", from: begun, to: now, kind: "life", isFailed: false, isPending: false };
  const waits = data.yields.map((one) => ({ name: one.command, from: msOf(one.createTime), to: now, kind: "wait", isFailed: false, isPending: true }));
  return html`<h3>Timeline</h3><${Timeline} spans=${[life, ...waits]} steps=${[]} failed=${[]} from=${begun} to=${now} />`;
}

/** @param {{calls: any[], of: "caller"|"callee"}} props */
function Calls({ calls, of }) {
  const rows = calls.map((one) => {
    const pid = of === "caller" ? one.pid : one.calleePid;
    const text = of === "caller" ? callerText(one) : calleeText(one);
    return [pid ? html`<${Pid} pid=${pid} />` : "–", html`<bdi>${text}</bdi>`, html`<${Ago} time=${one.createTime} />`,
      one.deadline ? html`<${Clock} time=${one.deadline} />` : one.pid ? "no deadline" : "set by the caller, not known here"];
  });
  return html`<${Table} caption=${of === "caller" ? "Callers" : "Called processes"} heads=${["PID", "Who", "Waits", "Deadline"]} rows=${rows} empty="" />`;
}

/** @param {{app: any, yields: any[], onDone: () => void}} props */
function Pending({ app, yields, onDone }) {
  const now = Date.now();
  const rows = yields.map((one) => [
    html`<${Foreign} text=${one.command} most=${100} />`,
    html`<${Ago} time=${one.createTime} />`,
    html`<bdi>${whyYieldWaits(one, now)}</bdi>`,
    html`<pre tabindex="0">${payloadText(one.payload)}</pre>`,
    html`<${ActionButton} app=${app} action=${completeAction(one)} onDone=${onDone} /> <${ActionButton} app=${app} action=${yieldErrorAction(one)} onDone=${onDone} />`,
  ]);
  return html`<h3>Pending commands</h3>
    <${Table} caption="Pending commands" heads=${["Command", "Waits", "Why", "Payload", "Actions"]} rows=${rows} empty="" />`;
}

const pids = (list) => (list?.length ? list.map((pid) => html`<${Pid} pid=${pid} /> `) : "–");

/** @param {{process: any}} props */
const Described = ({ process }) => html`
  <h3>Facts</h3>
  <${Facts} facts=${[
    ["Method", html`<${Foreign} text=${process.method || "–"} most=${140} />`],
    ["Names", html`<${Foreign} text=${(process.names ?? []).map((one) => `@${one}`).join(", ") || "–"} />`],
    ["Labels", html`<${Foreign} text=${Object.entries(process.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ") || "–"} />`],
    ["Parent", html`<${Pid} pid=${process.parentPid} />`],
    ["Created", html`<${Clock} time=${process.createTime} />, <${Ago} time=${process.createTime} /> ago`],
    ["Steps", count(process.steps)],
    ["Mailbox", `${counted(process.mailboxMessages, "event")}, ${bytes(process.mailboxBytes)}`],
    ["Commands outstanding", count(process.yieldsOutstanding)],
    ["Priority", String(process.priority ?? 0)],
    ["Owner", html`<${Foreign} text=${process.owner || "–"} most=${140} />`],
    ["Plugin", html`<${Foreign} text=${`${process.plugin ?? ""} ${process.pluginVersion ?? ""}`} most=${200} />`],
    ["Durability", word(process.durability, "DURABILITY_")],
    ["Links", pids(process.linkedPids)],
    ["Monitors", pids(process.monitoredPids)],
    ["Monitored by", pids(process.monitorPids)],
  ]} />`;

