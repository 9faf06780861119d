// A daemon with 100,000 processes, and without tokens.
import assert from "node:assert/strict";

// The build may have sanitizers, and other programs may run.
const ANSWER_MS = 5000;
const FRAME_MS = 2000;
const ELEMENTS = 3000;

/** @param {import("./kit.mjs").Kit} kit */
export async function pagesStayFluentWithManyProcesses(kit) {
  const page = await kit.page({ role: "", port: kit.order.portOfMany });
  await page.getByText("100,000 processes").waitFor();
  await page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    const look = () => {
      window.longest = Math.max(window.longest, performance.now() - last);
      last = performance.now();
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
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
  await page.getByText("makes progress").waitFor();
  const took = performance.now() - began;
  assert.ok(took < 5 * ANSWER_MS, `${took} ms`);
  const longest = await page.evaluate(() => window.longest);
  assert.ok(longest < FRAME_MS, `${longest} ms between two frames`);
}
