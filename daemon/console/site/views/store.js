// The store: its journal, its disk, the boot tree, quarantine.
import { html } from "../html.js";
import { Chart } from "../chart.js";
import { Facts, List } from "../parts.js";
import { bytes, count, duration } from "../text.js";
import { quarantineTable } from "./stuck.js";

/** @param {{app: any}} props */
export function Store({ app }) {
  const { metrics: m, status, samples } = app;
  const flag = (value) => (value ? html`<strong class="failed">yes</strong>` : "no");
  return html`
    <${Facts} facts=${[
      ["Full, so that durable work is refused", flag(m.actord_store_full)],
      ["Free room on the disk", bytes(m.actord_store_disk_free_bytes)],
      ["Journal behind", flag(m.actord_journal_behind)],
      ["Not on the disk yet", bytes(m.actord_journal_unsynced_bytes)],
      ["Running sync", m.actord_journal_sync_running_seconds > 0 ? `for ${duration(m.actord_journal_sync_running_seconds)}` : "none"],
      ["Durable, not applied to the state store", bytes(m.actord_store_unapplied_bytes)],
      ["Records since the start", count(m.actord_journal_records_total)],
      ["Written since the start", bytes(m.actord_journal_written_bytes_total)],
      ["Groups since the start", count(m.actord_journal_groups_total)],
      ["Waits for room in the buffer", count(m.actord_journal_room_waits_total)],
      ["Dormant processes", count(status.counters?.processesDormant)],
      ["Processes in quarantine", count(status.counters?.processesQuarantined)],
      ["Boot tree", { BOOT_TREE_STARTED: "started", BOOT_TREE_CONTINUED: "continued from the store", BOOT_TREE_DIFFERS: "continued; the configuration has another one" }[status.bootTree] ?? "none"],
    ]} />
    <div class="charts"><${Chart} title="Written to the journal" data=${samples.rates((one) => one.journal / 1024)} unit=" KiB/s" /></div>
    <h2>Quarantine</h2>
    <${List} method="ListQuarantine" field="processes" request=${{}} show=${quarantineTable(app)} />
    <h2>History</h2>
    <p>The page of a durable process shows its history, also for a while after its end: <a href="#/processes">find a process</a>.</p>`;
}
