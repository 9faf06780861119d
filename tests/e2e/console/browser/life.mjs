// A console that stays open: pauses, and a daemon that is killed and comes back.
import assert from "node:assert/strict";

/** @param {import("./kit.mjs").Page} page @param {() => Promise<void>} act */
async function callsDuring(page, act) {
  let calls = 0;
  const count = () => { calls += 1; };
  page.on("request", count);
  await act();
  page.off("request", count);
  return calls;
}

/** @param {import("./kit.mjs").Kit} kit */
export async function nothingIsAskedWhenNobodyLooks(kit) {
  // Time passes as the test says.
  const page = await kit.page({ role: "" });
  await page.clock.install();
  await page.reload();
  await kit.signIn(page, "viewer", kit.order.port);
  const halfAMinute = async () => {
    for (let i = 0; i < 5; i += 1) {
      await page.clock.runFor(6000);
      await page.evaluate(() => fetch("../healthz"));
    }
  };
  const own = 5;
  assert.ok(await callsDuring(page, halfAMinute) > own + 3);
  await page.getByRole("button", { name: "Pause" }).click();
  assert.equal(await callsDuring(page, halfAMinute), own);
  await page.getByRole("button", { name: "Resume" }).click();
  assert.ok(await callsDuring(page, halfAMinute) > own + 3);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  assert.equal(await callsDuring(page, halfAMinute), own);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function nothingIsAskedWithoutAToken(kit) {
  const page = await kit.page({ role: "" });
  await page.clock.install();
  await page.reload();
  await page.getByLabel("Token").waitFor();
  const halfAMinute = async () => {
    for (let i = 0; i < 5; i += 1) {
      await page.clock.runFor(6000);
      await page.evaluate(() => fetch("../healthz"));
    }
  };
  const own = 5;
  assert.equal(await callsDuring(page, halfAMinute), own);
  await kit.signIn(page, "viewer", kit.order.port);
  await page.getByRole("button", { name: "Pause" }).click();
  assert.equal(await callsDuring(page, async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This daemon checks tokens.").waitFor();
  }), 0);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function daemonIsKilledAndComesBack(kit) {
  const page = await kit.page({ role: "operator" });
  await kit.show(page, `process/${encodeURIComponent(kit.order.pids.order)}`);
  await kit.ask("kill");
  await page.getByText("The daemon cannot be reached since").waitFor();
  // The last data stay.
  assert.match(await page.locator(".sentence").textContent(), /payment\.charge/);
  await kit.ask("start");
  await page.getByText("The daemon was started again at").waitFor();
  await page.getByText("the daemon cannot be reached").waitFor({ state: "detached" });
  assert.match(await page.locator(".sentence").textContent(), /payment\.charge/);
  // Failed calls of the meantime are no complaint.
  kit.complaints = kit.complaints.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text));
}

/** @param {import("./kit.mjs").Kit} kit */
export async function wrongTokenIsRefused(kit) {
  const page = await kit.page({ role: "" });
  await page.getByLabel("Token").fill("atk_wrong");
  await page.keyboard.press("Enter");
  await page.getByText("the token is malformed").waitFor();
  // A worker may not see the status.
  await page.getByLabel("Token").fill(kit.order.tokens.worker);
  await page.keyboard.press("Enter");
  await page.getByText(/the token has the role worker/).waitFor();
  await kit.signIn(page, "viewer", kit.order.port);
  // A reload keeps the token; a new tab does not have it.
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const other = await page.context().newPage();
  await other.goto(kit.url("overview"));
  await other.getByLabel("Token").waitFor();
  assert.deepEqual(await page.context().cookies(), []);
}
