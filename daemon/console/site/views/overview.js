// The state of the daemon: failures, stuck work, rates, utilisation, near limits.
import { html } from "../html.js";
import { call } from "../api.js";
import { Chart } from "../chart.js";
import { Ago, Facts, Foreign, Pid, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { bytes, count, counted, duration, failureText, secondsOf } from "../text.js";
import { STUCK_SECONDS, groupsOfYields } from "./stuck.js";

const NEWEST = 200;
const NEAR = 0.8;

/**
 * @param {any[]} failures newest first
 * @returns {{type: string, count: number, newest: any}[]} most failures first
 */
export function failuresByType(failures) {
  /** @type {Map<string, {type: string, count: number, newest: any}>} */
  const groups = new Map();
  for (const failure of failures) {
    const type = failure.processType ?? "";
    const group = groups.get(type);
    if (group) {
      group.count += 1;
    } else {
      groups.set(type, { type, count: 1, newest: failure });
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

class Troubles extends Polled {
  async load(_props, signal) {
    const [failures, yields] = await Promise.all([
      call("ListFailures", { newestFirst: true, pageSize: NEWEST }, { signal }),
      call("ListYields", { pageSize: 100 }, { signal }),
    ]);
    return { failures: failures.failures ?? [], more: Boolean(failures.nextPageToken), yields: yields.yields ?? [] };
  }

  view({ failures, more, yields }, { app }) {
    const counters = app.status.counters ?? {};
    const quarantined = Number(counters.processesQuarantined ?? 0);
    const letters = Number(counters.deadLettersKept ?? 0);
    const groups = failuresByType(failures);
    const stuck = groupsOfYields(yields, Date.now());
    return html`
      <section>
        <h2>Failing</h2>
        <${Table} caption="Failures by type" empty="No failure is kept." heads=${["Type", "#Failures", "Newest", "Why", "Process"]}
          rows=${groups.slice(0, 10).map(({ type, count: times, newest }) => [
            html`<a href=${`#/failing?type=${encodeURIComponent(type)}`}><${Foreign} text=${type} most=${60} /></a>`,
            count(times), html`<${Ago} time=${newest.endTime} />`,
            html`<bdi class="why">${failureText(newest.failure)}</bdi>`, html`<${Pid} pid=${newest.pid} />`,
          ])} />
        ${more && html`<p class="quiet">Of the newest ${NEWEST} failures. <a href="#/failing">All</a></p>`}
      </section>
      <section>
        <h2>Stuck</h2>
        <${Table} caption="Commands that wait" empty=${`None of the oldest commands has waited for ${duration(STUCK_SECONDS)}.`} heads=${["Command", "Type", "#Waiting", "Longest", "Why", "Process"]}
          rows=${stuck.slice(0, 10).map((group) => [
            html`<a href=${`#/yields?command=${encodeURIComponent(group.command)}`}><${Foreign} text=${group.command} most=${60} /></a>`,
            html`<${Foreign} text=${group.type} most=${60} />`, count(group.count), html`<${Ago} time=${group.oldest.createTime} />`, html`<bdi class="why">${group.why}</bdi>`, html`<${Pid} pid=${group.oldest.pid} />`,
          ])} />
        <ul class="links">
          <li><a href="#/stuck">Processes that make no progress</a></li>
          <li><a href="#/letters">${counted(letters, "dead letter")}</a></li>
          ${quarantined > 0 && html`<li class="failed"><a href="#/store">${counted(quarantined, "process")} in quarantine</a></li>`}
        </ul>
      </section>`;
  }
}

/** @param {any} use a LimitUse @returns {string[]} cells */
function limitCells(use) {
  const text = use.unit === "bytes" ? bytes : count;
  const known = use.used !== undefined && use.max !== undefined;
  const share = known ? Number(use.used) / Math.max(1, Number(use.max)) : 0;
  const percent = known ? `${Math.round(100 * share)} %` : "–";
  const now = use.fullSince ? html`<strong class="failed">reached for <${Ago} time=${use.fullSince} /></strong>` : "free";
  return [use.name, use.used === undefined ? "–" : text(use.used), use.max === undefined ? "–" : text(use.max),
    share >= NEAR ? html`<span class="failed">${percent}</span>` : percent, now, count(use.refusedTotal), use.setting];
}

/** @param {{status: any}} props */
function Machine({ status }) {
  const use = status.resources;
  if (!use) return null;
  const limit = use.memoryLimitBytes;
  /** @type {[string, any][]} */
  const facts = [
    ["Memory", `${bytes(use.residentBytes)} resident`],
    ["Limit on memory", limit === undefined ? "none" : `${bytes(use.memoryUsedBytes)} of ${bytes(limit)} (${Math.round((100 * Number(use.memoryUsedBytes)) / Number(limit))} %); work is refused from 85 % on`],
    ["Processors", `${(use.cpuBusy ?? 0).toFixed(2)} of ${use.cpus ?? 1} busy (${Math.round((100 * (use.cpuBusy ?? 0)) / (use.cpus ?? 1))} %)`],
  ];
  if (use.storeDiskFreeBytes !== undefined) facts.push(["Disk of the store", `${bytes(use.storeDiskFreeBytes)} free`]);
  return html`
    <section>
      <h2>Machine</h2>
      <${Facts} facts=${facts} />
    </section>`;
}

/** The limits that refused something within the samples. */
function reached(samples) {
  const [first, last] = [samples.list[0], samples.list.at(-1)];
  if (!first || first === last) return [];
  return Object.keys(last.counters)
    .filter((name) => name.endsWith("LimitTotal"))
    .map((name) => [name, last.counters[name] - (first.counters[name] ?? 0)])
    .filter(([, times]) => times > 0);
}

const limitName = (name) => name.replace("LimitTotal", "").replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);

/** @param {{app: any}} props */
function Limits({ app }) {
  const hits = reached(app.samples);
  return html`
    <section>
      <h2>Limits</h2>
      <${Table} caption="Use of limits" empty="The daemon does not show the use of its limits."
        heads=${["Limit", "#Used", "#Of", "#Full", "Now", "#Refused", "Set by"]} rows=${(app.status.limitUse ?? []).map(limitCells)} />
      ${hits.length === 0 && html`<p class="quiet">No limit has refused anything while this page was open.</p>`}
      <ul>
        ${hits.map(([name, times]) => html`<li class="failed">The limit of ${limitName(name)} was reached ${counted(times, "time")}.</li>`)}
      </ul>
    </section>`;
}

/** @param {{app: any}} props */
export function Overview({ app }) {
  const { samples, status } = app;
  const rate = (name) => samples.rates((sample) => sample.counters[name] ?? 0);
  const level = (name) => samples.levels((sample) => sample.counters[name] ?? 0);
  const workers = Number(status.workers ?? 1);
  const [times, cpus] = samples.rates((sample) => sample.cpu);
  const charts = [
    ["Processes", level("processesLive")],
    ["Steps", rate("stepsTotal"), "/s"],
    ["Messages", rate("messagesTotal"), "/s"],
    ["Failed or cancelled", rate("processesFailedTotal"), "/s"],
    ["Commands waiting for workers", level("yieldsExternalWaiting")],
    [`Processor time of ${counted(workers, "worker")}`, [times, cpus.map((cpu) => (100 * cpu) / workers)], " %"],
  ];
  return html`
    <p class="quiet">actord ${status.version}, ${counted(status.counters?.processesLive, "process").replace(/processs$/, "processes")}, up ${duration(secondsOf(status.uptime))}.</p>
    <${Troubles} app=${app} />
    <${Machine} status=${status} />
    <section>
      <h2>Rates</h2>
      <div class="charts">${charts.map(([title, data, unit]) => html`<${Chart} title=${title} data=${data} unit=${unit} />`)}</div>
      <p class="quiet">Up to 15 minutes, kept in this page alone.</p>
    </section>
    <${Limits} app=${app} />`;
}
