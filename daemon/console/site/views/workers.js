// Remote workers, as far as their commands show them.
import { html } from "../html.js";
import { call } from "../api.js";
import { Ago, Facts, Foreign, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { count, duration, msOf, word } from "../text.js";

const MOST = 500;

/** @param {any[]} yields @param {(item: any) => string} keyOf */
function groupsBy(yields, keyOf) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const item of yields) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

export class Workers extends Polled {
  async load(_props, signal) {
    const answer = await call("ListYields", { pageSize: MOST }, { signal });
    return { yields: answer.yields ?? [], more: Boolean(answer.nextPageToken) };
  }

  view({ yields, more }, { app }) {
    const { counters = {}, commands = [] } = app.status;
    const held = yields.filter((one) => one.leaseDeadline);
    const now = Date.now();
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
      <h2>By worker</h2>
      <${Table} caption="Workers" empty="No worker holds a task." heads=${["Worker", "#Tasks", "Commands", "Next lease ends in"]}
        rows=${groupsBy(held, (one) => one.worker ?? "").map(([worker, list]) => [
          html`<${Foreign} text=${worker || "without a name"} most=${100} />`, count(list.length),
          html`<${Foreign} text=${[...new Set(list.map((one) => one.command))].join(", ")} most=${100} />`,
          duration((Math.min(...list.map((one) => msOf(one.leaseDeadline))) - now) / 1000),
        ])} />
      ${more && html`<p class="quiet">This table covers the ${MOST} oldest commands. A worker that holds no task is not listed.</p>`}
      <h2>Commands of this daemon</h2>
      <${Table} caption="Commands of this daemon" empty="" heads=${["Command", "Carried out", "Plugin"]}
        rows=${commands.map((one) => [html`<${Foreign} text=${one.name} most=${100} />`, word(one.kind, "COMMAND_KIND_"), html`<${Foreign} text=${one.plugin} />`])} />`;
  }
}
