// Each view: no violation of accessibility in light and dark, and no wider than 360
// px.
import assert from "node:assert/strict";
import { VIEWS } from "./kit.mjs";

/** @param {import("./kit.mjs").Kit} kit */
const all = (kit) => [...VIEWS, `process/${encodeURIComponent(kit.order.pids.order)}`,
  `process/${encodeURIComponent(kit.order.pids["hostile failure"])}`];

/** @param {import("./kit.mjs").Kit} kit */
export async function eachViewInLightAndDark(kit) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await kit.page({ colorScheme });
    // Only the colours differ.
    const rules = colorScheme === "light" ? undefined : ["color-contrast"];
    for (const view of all(kit)) {
      await kit.show(page, view);
      await kit.checkAccess(page, `${view} in ${colorScheme}`, rules);
    }
    await kit.show(page, "letters");
    await page.getByRole("button", { name: "Resend" }).first().click();
    await kit.checkAccess(page, `dialog in ${colorScheme}`, rules);
  }
}

/** @param {import("./kit.mjs").Kit} kit */
export async function eachViewFitsASmallScreen(kit) {
  const page = await kit.page({ viewport: { width: 360, height: 640 } });
  for (const view of all(kit)) {
    await kit.show(page, view);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${view} is ${width} px wide`);
  }
  await kit.checkAccess(page, "a small screen");
}

/** @param {import("./kit.mjs").Kit} kit */
export async function waitingCommandsFitAPhone(kit) {
  const page = await kit.page({ viewport: { width: 390, height: 844 } });
  await kit.show(page, "yields");
  const overflow = () => page.getByRole("region", { name: "Waiting commands" })
    .evaluate((region) => region.scrollWidth - region.clientWidth);
  assert.ok(await overflow() <= 0, "the table must be scrolled sideways");
  // The check can fail: as a table of columns it is too wide.
  await page.locator("table.stacks").evaluate((table) => table.classList.remove("stacks"));
  assert.ok(await overflow() > 0);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function timesOfAChartDoNotRepeat(kit) {
  const page = await kit.page();
  const all = await page.evaluate(async () => {
    const { clocks } = await import(new URL("chart.js", document.baseURI).href);
    return [0.5, 5, 15, 30, 60, 90, 300].map((step) =>
      clocks(Array.from({ length: 8 }, (_, i) => 1_800_000_030 + i * step)));
  });
  for (const texts of all) {
    const told = texts.filter((text) => text !== "");
    assert.equal(new Set(told).size, told.length, texts.join(" "));
    assert.ok(told.length > 1, texts.join(" "));
  }
}

/** @param {import("./kit.mjs").Kit} kit */
export async function machineAndClientsAreShown(kit) {
  const page = await kit.sharedPage();
  const overview = await page.locator("main").textContent();
  assert.match(overview, /Memory[\d.]+ MiB resident/);
  assert.match(overview, /Processors\d+\.\d\d of \d+ busy/);
  assert.match(overview, /Load of the machine\d+\.\d\d in the last minute, on \d+ processors?/);
  assert.match(overview, /Memory of the machine[\d.]+ [KMGT]iB of [\d.]+ [KMGT]iB available/);
  const limits = await page.getByRole("region", { name: "Use of limits" }).textContent();
  assert.match(limits, /processes\d+4,000,0000 %free0limits\.max_processes/);
  await kit.show(page, "clients?page=shown");
  // This page is a client itself.
  await page.getByRole("row", { name: / http / }).first().waitFor();
  await page.waitForFunction(() => /\d+ B/.test(document.querySelector("td[data-head='Received/s']")?.textContent ?? ""));
}

/** @param {import("./kit.mjs").Kit} kit */
export async function textsOfAChartStandApart(kit) {
  const page = await kit.page({ viewport: { width: 1440, height: 900 } });
  const { texts, empty } = await page.evaluate(async () => {
    const load = (file) => import(new URL(file, document.baseURI).href);
    const { html, render } = await load("html.js");
    const { Chart } = await load("chart.js");
    // What the newest drawing has written below and beside the chart.
    let texts = [];
    const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function clear(...at) { texts = []; clearRect.apply(this, at); };
    CanvasRenderingContext2D.prototype.fillText = function fill(text, x, y) {
      texts.push({ text, x, width: this.measureText(text).width });
      fillText.call(this, text, x, y);
    };
    const place = document.createElement("div");
    place.style.width = "330px";
    document.body.append(place);
    const draw = (length) => render(html`<${Chart} title="Time" unit=" %"
      data=${[Array.from({ length }, (_, i) => 1_800_000_030 + 5 * i), Array.from({ length }, () => 40)]} />`, place);
    draw(1);
    const empty = [place.textContent, place.querySelectorAll("canvas").length];
    draw(12);
    await new Promise((resolve) => { setTimeout(resolve, 200); });
    return { texts, empty };
  });
  assert.deepEqual(empty, ["Time 40 %Waiting for a second sample.", 0]);
  const clocks = texts.filter(({ text }) => text.includes(":"));
  assert.ok(clocks.length > 1, JSON.stringify(texts));
  for (let i = 1; i < clocks.length; i += 1) {
    assert.ok(clocks[i].x - clocks[i - 1].x > clocks[i].width + 8, JSON.stringify(clocks));
  }
  assert.ok(texts.some(({ text }) => / %$/.test(text)), JSON.stringify(texts));
}

/** @param {import("./kit.mjs").Kit} kit */
export async function emptyAndBuiltInThingsSaySo(kit) {
  const page = await kit.page();
  const main = page.locator("main");
  await kit.show(page, "logs");
  assert.match(await main.textContent(), /Times are UTC\.[\s\S]*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} /);
  await page.route("**/ListLogLines", (route) => route.fulfill({ json: { level: "LOG_LEVEL_INFO" } }));
  await kit.show(page, "logs?level=ERROR");
  await page.getByText("No line of this level.").waitFor();
  await kit.show(page, "letters");
  await page.getByText("the beginning of each payload").waitFor();
  await page.route("**/ListDeadLetters", (route) => route.fulfill({ json: {} }));
  await kit.show(page, "letters?reason=ENDED");
  assert.doesNotMatch(await main.textContent(), /beginning of each payload/);
  await kit.show(page, "plugins");
  assert.match(await main.textContent(), /builtin [\d.]+A part of the program\.Process types/);
  await kit.show(page, "store");
  assert.match(await main.textContent(), /Running syncnone/);
  await kit.show(page, "failing");
  await page.getByRole("columnheader", { name: "Name", exact: true }).waitFor();
  await page.getByRole("cell", { name: /^\d.* ago$/ }).first().waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function fieldsOfAFilterAreOnALine(kit) {
  const page = await kit.page();
  await kit.show(page, "processes");
  const places = await page.locator("form.filters").last().evaluate((form) =>
    [...form.elements].map((one) => one.getBoundingClientRect()).map(({ top, height }) => `${top} ${height}`));
  assert.equal(places.length, 5);
  assert.equal(new Set(places).size, 1, places.join(", "));
  // A choice applies at once.
  await kit.show(page, "failing");
  assert.equal(await page.getByRole("button", { name: "Filter" }).count(), 0);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function policyHoldsScriptsBack(kit) {
  const page = await kit.page();
  const reports = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
    document.body.insertAdjacentHTML("beforeend", "<p style='color: red' onclick='window.hacked = 1'>x</p>");
    document.querySelector("p:last-child").click();
    await fetch("http://127.0.0.2:1/").catch(() => {});
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    return { seen, hacked: window.hacked ?? 0 };
  });
  assert.deepEqual(reports, { seen: ["script-src-elem", "style-src-attr", "script-src-attr", "connect-src"], hacked: 0 });
  kit.complaints = kit.complaints.filter((text) => !text.includes("Content Security Policy"));
}
