// Plugins, their versions, and how far upgrades are.
import { html } from "../html.js";
import { ActionButton } from "../actions.js";
import { call } from "../api.js";
import { actorctl } from "../commands.js";
import { Foreign, Table } from "../parts.js";
import { Polled } from "../polled.js";
import { count } from "../text.js";

/** @type {import("../actions.js").Action} */
const LOAD = {
  label: "Load a plugin",
  title: "Load a plugin, or a new version of it",
  method: "LoadPlugin",
  fields: [{ name: "path", label: "Path, below a plugin directory of the daemon" }],
  request: ({ path }) => ({ path }),
  command: ({ path }) => actorctl("plugin", "load", path),
  said: (answer) => `Loaded ${answer.plugin?.name} ${answer.plugin?.version}.`,
};

export class Plugins extends Polled {
  async load(_props, signal) {
    return (await call("ListPlugins", {}, { signal })).plugins ?? [];
  }

  view(plugins, { app }) {
    return html`
      <div class="buttons"><${ActionButton} app=${app} action=${LOAD} onDone=${this.reload} /></div>
      ${plugins.map(({ plugin, inForce, processTypes = [] }) => html`
        <h2><${Foreign} text=${`${plugin.name} ${plugin.version ?? ""}`} most=${100} />${!inForce && html` <span class="quiet">replaced</span>`}</h2>
        <p class="quiet">${plugin.path ? html`<${Foreign} text=${plugin.path} most=${300} />` : "A part of the program."}${plugin.sha256 && html`<br />SHA-256 <code>${plugin.sha256}</code>`}</p>
        <${Table} caption=${`Process types of ${plugin.name}`} empty="It has no process type." heads=${["Type", "In force", "#Live", "#To come", "#Upgraded", "#Declined"]}
          rows=${processTypes.map((one) => [html`<a href=${`#/processes?type=${encodeURIComponent(one.name)}`}><${Foreign} text=${one.name} most=${100} /></a>`,
            one.inForce ? "yes" : "no", count(one.processesLive), count(one.processesToCome), count(one.upgradesTotal), count(one.upgradesDeclinedTotal)])} />`)}
      ${plugins.length === 0 && html`<p class="quiet">No plugin is loaded.</p>`}`;
  }
}
