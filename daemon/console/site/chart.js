// A small chart over time.
import uPlot from "./vendor/uPlot.esm.js";
import { Component, html } from "./html.js";

const HEIGHT = 120;
// Points that a reader of the screen is told.
const TOLD = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });

/**
 * The times of the lines of the grid, as texts. No text stands twice in a row.
 * @param {number[]} times in seconds @returns {string[]}
 */
export function clocks(times) {
  const step = times.length > 1 ? times[1] - times[0] : 60;
  /** @type {Intl.DateTimeFormatOptions} */
  const parts = { hourCycle: "h23", hour: "2-digit", minute: "2-digit" };
  if (step % 60 !== 0) parts.second = "2-digit";
  const texts = times.map((time) => new Date(time * 1000).toLocaleTimeString([], parts));
  return texts.map((text, i) => (i > 0 && text === texts[i - 1] ? "" : text));
}

// Between two texts below a chart, from their middle; no text is wider.
export const X_SPACE = 84;
export const FONT = "12px system-ui, sans-serif";
// A longer unit stands in the title alone.
const LONGEST_UNIT = 2;

/** @typedef {{title: string, data: [number[], number[]], unit?: string}} ChartProps */
export class Chart extends Component {
  /** @type {HTMLElement|null} */
  place = null;
  /** @type {uPlot|null} */
  plot = null;
  /** @type {ResizeObserver|null} */
  #sizes = null;

  componentDidMount() {
    this.#sizes = new ResizeObserver(() => {
      const width = this.place?.clientWidth;
      if (width) this.plot?.setSize({ width, height: HEIGHT });
    });
    this.#sizes.observe(this.place);
    this.#draw();
  }

  componentDidUpdate() {
    this.#draw();
  }

  /** One point is no line, and its times would be false. */
  #draw() {
    const { data, unit = "" } = this.props;
    if (data[0].length < 2) {
      this.plot?.destroy();
      this.plot = null;
    } else if (this.plot) {
      this.plot.setData(data);
    } else {
      this.#begin(data, unit.trim().length <= LONGEST_UNIT ? unit : "");
    }
  }

  /** @param {[number[], number[]]} data @param {string} unit */
  #begin(data, unit) {
    const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = {
      stroke: () => color("--quiet"),
      grid: { stroke: () => color("--line"), width: 1 },
      ticks: { show: false },
      font: FONT,
    };
    this.plot = new uPlot(
      {
        width: this.place?.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
        axes: [
          { ...axis, size: 24, space: X_SPACE, values: (_plot, times) => clocks(times) },
          { ...axis, size: 56, values: (_plot, values) => values.map((value) => `${value.toLocaleString("en", { notation: "compact" })}${unit}`) },
        ],
        series: [{}, { stroke: () => color("--accent"), width: 1.5, points: { show: false } }],
      },
      data,
      this.place,
    );
  }

  componentWillUnmount() {
    this.#sizes?.disconnect();
    this.plot?.destroy();
  }

  render({ title, data, unit }) {
    const last = data[1].at(-1);
    const now = last === undefined ? "…" : `${TOLD(last)}${unit ?? ""}`;
    return html`
      <figure class="chart">
        <figcaption>${title} <strong>${now}</strong></figcaption>
        ${data[0].length < 2 && html`<p class="quiet">Waiting for a second sample.</p>`}
        <div aria-hidden="true" ref=${(place) => { this.place = place; }}></div>
      </figure>`;
  }
}
