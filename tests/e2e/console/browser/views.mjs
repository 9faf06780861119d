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
