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
  const limits = await page.getByRole("region", { name: "Use of limits" }).textContent();
  assert.match(limits, /processes\d+4,000,0000 %free0limits\.max_processes/);
  await kit.show(page, "clients?sort=callsBegun");
  // This page is a client itself.
  await page.getByRole("row", { name: / http / }).first().waitFor();
  await page.waitForFunction(() => /\d+ B/.test(document.querySelector("td[data-head='Received/s']")?.textContent ?? ""));
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
