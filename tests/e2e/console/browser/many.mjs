// A daemon with 100,000 processes, and without tokens.
import assert from "node:assert/strict";

// Other programs may run: one long pause between two frames shows nothing, but a
// page that computes most of the time is not fluent.
const LONG_MS = 500;
const ELEMENTS = 3000;

/** @param {import("./kit.mjs").Kit} kit */
export async function pagesStayFluentWithManyProcesses(kit) {
  const page = await kit.page({ role: "", port: kit.order.portOfMany });
  await page.getByText("100,000 processes").waitFor();
  await page.evaluate((longMs) => {
    window.stalledMs = 0;
    let last = performance.now();
    const look = () => {
      const took = performance.now() - last;
      if (took > longMs) window.stalledMs += took;
      last += took;
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, LONG_MS);
  const rows = page.getByRole("region", { name: "Processes" }).locator("tbody tr");
  const first = async () => {
    await rows.nth(49).waitFor();
    return rows.first().getByRole("link").textContent();
  };
  const began = performance.now();
  await kit.show(page, "processes?type=probe&state=IDLE");
  const firstPage = await first();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Page 2").waitFor();
  await page.waitForFunction((text) => document.querySelector("tbody tr a")?.textContent !== text && document.querySelectorAll("tbody tr").length === 50, firstPage);
  assert.equal(await rows.count(), 50);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(elements < ELEMENTS, `${elements} elements`);
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByText("Page 1").waitFor();
  await kit.show(page, "processes?state=BLOCKED");
  await page.getByText(/No process matches/).waitFor();
  await kit.show(page, "stuck");
  await page.getByText("No other process is stuck.").waitFor();
  const took = performance.now() - began;
  const stalled = await page.evaluate(() => window.stalledMs);
  assert.ok(took < kit.order.waitMs, `${took} ms`);
  assert.ok(stalled < took / 2, `the page drew nothing for ${stalled} of ${took} ms`);
}
