// The state of the daemon: failures, stuck work, rates, utilisation, near limits.
import { html } from "../html.js";
import { call } from "../api.js";
import { Chart } from "../chart.js";
import { Ago, Facts, Foreign, Past, Pid, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { bytes, count, counted, duration, failureText, secondsOf } from "../text.js";
import { Debtors, STUCK_SECONDS, failuresByText, groupsOfYields } from "./troubles.js";

const NEWEST = 200;
const MOST_YIELDS = 100;
const MOST_ROWS = 10;
const NEAR = 0.8;

class Troubles extends Polled {
  async load(_props, signal) {
    const [failures, yields] = await Promise.all([
      call("ListFailures", { newestFirst: true, pageSize: NEWEST }, { signal }),
      call("ListYields", { pageSize: MOST_YIELDS }, { signal }),
    ]);
    return {
      failures: failures.failures ?? [], moreFailures: Boolean(failures.nextPageToken),
      yields: yields.yields ?? [], moreYields: Boolean(yields.nextPageToken),
    };
  }

  view({ failures, moreFailures, yields, moreYields }, { app }) {
    const counters = app.status.counters ?? {};
    const quarantined = Number(counters.processesQuarantined ?? 0);
    const letters = Number(counters.deadLettersKept ?? 0);
    const groups = failuresByText(failures);
    const stuck = groupsOfYields(yields, Date.now());
    return html`
      <section>
        <h2>Failing</h2>
        <${Table} stacks=${true} caption="Failures by type and reason" empty="No failure is kept." heads=${["Type", "Why", "#Failures", "Newest", "Process"]}
          rows=${groups.slice(0, MOST_ROWS).map(({ type, count: times, newest, hasVariants }) => [
            html`<a href=${`#/failing?type=${encodeURIComponent(type)}`}><${Foreign} text=${type} most=${60} /></a>`,
            html`<bdi class="why">${failureText(newest.failure)}</bdi>${hasVariants && html` <span class="quiet">(the newest; the numbers differ)</span>`}`,
            `${count(times)}${moreFailures ? "+" : ""}`, html`<${Past} time=${newest.endTime} />`, html`<${Pid} pid=${newest.pid} />`,
          ])} />
        ${groups.length > MOST_ROWS && html`<p class="quiet">${counted(groups.length - MOST_ROWS, "more reason")}. <a href="#/failing">All failures</a></p>`}
        ${moreFailures && html`<p class="quiet">The table counts the newest ${NEWEST} failures. ${counted(counters.processFailuresTotal, "process")} failed since the start of the daemon. <a href="#/failing">All that are kept</a></p>`}
      </section>
      <section>
        <h2>Stuck</h2>
        <${Debtors} most=${5} />
        <${Table} stacks=${true} caption="Commands that wait" empty=${`None of the oldest commands has waited for ${duration(STUCK_SECONDS)}.`} heads=${["Command", "Type", "#Waiting", "Oldest asked", "Why", "Oldest process"]}
          rows=${stuck.slice(0, MOST_ROWS).map((group) => [
            html`<a href=${`#/yields?command=${encodeURIComponent(group.command)}`}><${Foreign} text=${group.command} most=${60} /></a>`,
            html`<${Foreign} text=${group.type} most=${60} />`, `${count(group.count)}${moreYields ? "+" : ""}`, html`<${Past} time=${group.oldest.createTime} />`, html`<bdi class="why">${group.why}</bdi>`, html`<${Pid} pid=${group.oldest.pid} />`,
          ])} />
        <ul class="links">
          <li><a href="#/stuck">All that is stuck</a></li>
          <li><a href="#/letters">${counted(letters, "dead letter")}</a></li>
          ${quarantined > 0 && html`<li class="failed"><a href="#/store">${counted(quarantined, "process")} in quarantine</a></li>`}
        </ul>
      </section>`;
  }
}

/** @param {any} use a LimitUse @param {number} fresh its refusals since the page was opened @returns {any[]} cells */
function limitCells(use, fresh) {
  const text = use.unit === "bytes" ? bytes : count;
  const known = use.used !== undefined && use.max !== undefined;
  const share = known ? Number(use.used) / Math.max(1, Number(use.max)) : 0;
  const percent = known ? `${Math.round(100 * share)} %` : "–";
  const now = use.fullSince ? html`<strong class="failed">reached for <${Ago} time=${use.fullSince} /></strong>` : use.isUnset ? "not set" : "free";
  return [use.name, use.used === undefined ? "–" : text(use.used), use.max === undefined ? "–" : text(use.max),
    share >= NEAR ? html`<span class="failed">${percent}</span>` : percent, now,
    html`${count(use.refusedTotal)}${fresh > 0 && html`<br /><span class="failed">${counted(fresh, "refusal")} since this page was opened</span>`}`, `${use.setting}${use.needsRestart ? " (restart)" : ""}`];
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
  // An older daemon does not tell these.
  if (use.machineLoad !== undefined) facts.push(["Load of the machine", `${use.machineLoad.toFixed(2)} in the last minute, on ${counted(use.cpus, "processor")}`]);
  if (use.machineMemoryBytes !== undefined) facts.push(["Memory of the machine", `${bytes(use.machineMemoryAvailableBytes)} of ${bytes(use.machineMemoryBytes)} available`]);
  if (use.storeDiskFreeBytes !== undefined) facts.push(["Disk of the store", `${bytes(use.storeDiskFreeBytes)} free`]);
  return html`
    <section>
      <h2>Machine</h2>
      <${Facts} facts=${facts} />
    </section>`;
}

/** Limits that are reached come first, then those that have refused most. */
const byUrgency = (a, b) => Number(Boolean(b.fullSince)) - Number(Boolean(a.fullSince)) ||
  Number(b.refusedTotal ?? 0) - Number(a.refusedTotal ?? 0);

/** @param {{app: any}} props */
const Limits = ({ app }) => html`
  <section>
    <h2>Limits</h2>
    <${Table} stacks=${true} caption="Use of limits" empty="The daemon does not show the use of its limits."
      heads=${["Limit", "#Used", "#Of", "#Full", "Now", "#Refused", "Set by"]}
      rows=${[...(app.status.limitUse ?? [])].sort(byUrgency).map((use) => limitCells(use, app.samples.refusedSinceOpened(use)))} />
  </section>`;

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
    <p class="quiet">actord ${status.version}, ${counted(status.counters?.processesLive, "process")}, up ${duration(secondsOf(status.uptime))}.</p>
    <${Troubles} app=${app} />
    <${Machine} status=${status} />
    <section>
      <h2>Rates</h2>
      <div class="charts">${charts.map(([title, data, unit]) => html`<${Chart} title=${title} data=${data} unit=${unit} />`)}</div>
      <p class="quiet">Up to 15 minutes, kept in this page alone.</p>
    </section>
    <${Limits} app=${app} />`;
}
