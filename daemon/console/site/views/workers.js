// The commands that wait, and the remote workers that are connected.
import { html } from "../html.js";
import { call } from "../api.js";
import { Ago, Facts, Foreign, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { count, word } from "../text.js";

const MOST = 500;

/** @param {any[]} yields @param {(item: any) => string} keyOf */
function groupsBy(yields, keyOf) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const item of yields) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

/** Why a worker gets tasks, or gets none; as `actorctl workers` says it. @param {any} worker */
function stateOf(worker) {
  if (worker.stopping) return "stopping";
  if (worker.silent) return html`<span class="failed">silent since a lease expired</span>`;
  return worker.credits ? "ready" : "busy";
}

export class Workers extends Polled {
  async load(_props, signal) {
    const [waiting, connected] = await Promise.all([
      call("ListYields", { pageSize: MOST }, { signal }),
      call("ListWorkers", { pageSize: MOST }, { signal }),
    ]);
    return {
      yields: waiting.yields ?? [], more: Boolean(waiting.nextPageToken),
      workers: connected.workers ?? [], moreWorkers: Boolean(connected.nextPageToken),
    };
  }

  view({ yields, more, workers, moreWorkers }, { app }) {
    const { counters = {}, commands = [] } = app.status;
    return html`
      <${Facts} facts=${[["Connected workers", count(counters.remoteWorkers)], ["Tasks that they hold", count(counters.tasksLeased)],
        ["Commands that wait", count(counters.yieldsExternalWaiting)]]} />
      <h2>By command</h2>
      <${Table} caption="Commands" empty="No command waits for a worker." heads=${["Command", "#Waiting", "#Held", "Worker", "Oldest"]}
        rows=${groupsBy(yields, (one) => one.command).map(([command, list]) => [
          html`<a href=${`#/yields?command=${encodeURIComponent(command)}`}><${Foreign} text=${command} most=${60} /></a>`,
          count(list.length), count(list.filter((one) => one.leaseDeadline).length),
          list[0].hasWorker ? "connected" : html`<span class="failed">none connected</span>`,
          html`<${Ago} time=${list[0].createTime} />`,
        ])} />
      ${more && html`<p class="quiet">The table counts the ${MOST} oldest commands that wait.</p>`}
      <h2>Workers</h2>
      <${Table} caption="Workers" empty="No worker is connected." heads=${["#Worker", "Name", "State", "Connected", "#Tasks", "#Credits", "Commands"]}
        rows=${workers.map((one) => [
          one.worker, html`<${Foreign} text=${one.name || "without a name"} most=${100} />`, stateOf(one),
          html`<${Ago} time=${one.connectTime} />`, count(one.tasks), count(one.credits),
          html`<${Foreign} text=${(one.commands ?? []).join(" ")} most=${100} />`,
        ])} />
      ${moreWorkers && html`<p class="quiet">The table has the ${MOST} workers that have been connected longest.</p>`}
      <h2>Commands of this daemon</h2>
      <${Table} caption="Commands of this daemon" empty="" heads=${["Command", "Carried out", "Plugin"]}
        rows=${commands.map((one) => [html`<${Foreign} text=${one.name} most=${100} />`, word(one.kind, "COMMAND_KIND_"), html`<${Foreign} text=${one.plugin} />`])} />`;
  }
}
