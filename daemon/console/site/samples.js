// Fifteen minutes of the daemon's counters, kept in this page alone.

export const SAMPLE_MS = 5000;
const MOST = (15 * 60_000) / SAMPLE_MS;

/**
 * @typedef {object} Sample
 * @property {number} at ms since 1970
 * @property {Record<string, number>} counters
 * @property {number} cpu seconds of processor time
 * @property {number} journal bytes written to the journal
 */

export class Samples {
  /** @type {Sample[]} */
  list = [];
  #incarnation = "";
  /** @type {Map<string, number>} refusals by limit, when the page was opened */
  #refusedBefore = new Map();

  /**
   * @param {any} status of GetStatus
   * @param {Record<string, number>} metrics
   */
  add(status, metrics) {
    // The counters of another run of the daemon begin at 0 again.
    if (status.incarnation !== this.#incarnation) {
      this.list = [];
      // All refusals of a run that began later are new.
      const isFirst = this.#incarnation === "";
      this.#refusedBefore = new Map((isFirst ? status.limitUse ?? [] : []).map((use) => [use.name, Number(use.refusedTotal ?? 0)]));
    }
    this.#incarnation = status.incarnation;
    /** @type {Record<string, number>} */
    const counters = {};
    for (const [name, value] of Object.entries(status.counters ?? {})) counters[name] = Number(value);
    this.list.push({
      at: Date.now(),
      counters,
      cpu: metrics.process_cpu_seconds_total ?? 0,
      journal: metrics.actord_journal_written_bytes_total ?? 0,
    });
    if (this.list.length > MOST) this.list.shift();
  }

  /**
   * The change a second between neighbours.
   * @param {(sample: Sample) => number} value
   * @returns {[number[], number[]]} times in seconds, rates
   */
  rates(value) {
    const times = [];
    const rates = [];
    for (let i = 1; i < this.list.length; i += 1) {
      const [before, after] = [this.list[i - 1], this.list[i]];
      times.push(after.at / 1000);
      rates.push(Math.max(0, (value(after) - value(before)) / ((after.at - before.at) / 1000)));
    }
    return [times, rates];
  }

  /** Refusals of a limit since the page was opened. @param {any} use a LimitUse @returns {number} */
  refusedSinceOpened(use) {
    return Math.max(0, Number(use.refusedTotal ?? 0) - (this.#refusedBefore.get(use.name) ?? 0));
  }

  /** @param {(sample: Sample) => number} value @returns {[number[], number[]]} */
  levels(value) {
    return [this.list.map(({ at }) => at / 1000), this.list.map(value)];
  }
}
