// The page of one process.
import assert from "node:assert/strict";

/** @param {import("./kit.mjs").Kit} kit @param {import("./kit.mjs").Page} page @param {string} name */
const showProcess = (kit, page, name) => kit.show(page, `process/${encodeURIComponent(kit.order.pids[name])}`);

/** @param {import("./kit.mjs").Kit} kit */
export async function waitingProcessSaysWhatItWaitsFor(kit) {
  const page = await kit.sharedPage();
  await showProcess(kit, page, "order");
  const sentence = await page.locator(".sentence").textContent();
  assert.match(sentence, /^It waits for the command payment\.charge, asked .* ago: no worker subscribes to it; it times out in (\d+ min|1 h)/);
  assert.match(await page.locator("h2").first().textContent(), /order @orders\/17/);
  await page.getByRole("heading", { name: "Pending commands" }).waitFor();
  await showProcess(kit, page, "held");
  assert.match(await page.locator(".sentence").textContent(), /manual\.held, asked .*: worker press 4 holds attempt 1, and its lease ends in \d+ min/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function nameShowsTheProcessThatHoldsIt(kit) {
  const page = await kit.sharedPage();
  const refused = [];
  const look = (response) => { if (!response.ok()) refused.push(response.url()); };
  page.on("response", look);
  await kit.show(page, `process/${encodeURIComponent("@orders/17")}`);
  page.off("response", look);
  assert.match(await page.locator(".sentence").textContent(), /^It waits for the command payment\.charge/);
  assert.match(await page.locator(".pid").textContent(), new RegExp(`^${kit.order.pids.order} `));
  await page.getByRole("heading", { name: "Pending commands" }).waitFor();
  assert.deepEqual(refused, []);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function durableProcessHasItsHistory(kit) {
  const page = await kit.sharedPage();
  await showProcess(kit, page, "counter");
  const steps = page.locator(".steps > li");
  await steps.nth(3).waitFor();
  assert.match((await steps.allTextContents()).join("\n"), /Step 3[\s\S]*call add[\s\S]*reply/);
  assert.ok(await page.locator(".timeline .bar-step").count() >= 3);
  await showProcess(kit, page, "order");
  const steps_ = await page.locator(".steps").textContent();
  assert.match(steps_, /command payment\.charge/);
  assert.doesNotMatch(steps_, /yield/);
  assert.match(await page.locator(".steps").getByTitle(/takes no message before/).first().textContent(), /^block$/);
  await page.locator(".timeline .bar-pending").waitFor();
  assert.match(await page.locator(".timeline").textContent(), /payment\.charge.* so far/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function failedProcessSaysWhy(kit) {
  const page = await kit.sharedPage();
  await showProcess(kit, page, "failed");
  assert.match(await page.locator(".error").textContent(), /It has failed \(failed\): FAILED_PRECONDITION: the card of order 2 was refused/);
  // One full bar says nothing.
  assert.equal(await page.locator(".timeline").count(), 0);
  const facts = await page.locator("dl.facts").textContent();
  assert.match(facts, /Type.*probe.*Created.*Ended.*ago.*Lived.*Steps/s);
  await page.getByRole("heading", { name: "Last steps" }).waitFor();
  assert.match(await page.locator(".steps > li").first().textContent(), /Step 1[\s\S]*step[\s\S]*fail/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function callIsSeenFromBothSides(kit) {
  const page = await kit.sharedPage();
  const { clerk, desk } = kit.order.pids;
  await showProcess(kit, page, "clerk");
  const sentence = await page.locator(".sentence").textContent();
  assert.match(sentence, /It has waited .* for the answer of /);
  assert.ok(sentence.includes(`${desk} (probe @desk)`), sentence);
  const called = await page.getByRole("region", { name: "Called processes" }).textContent();
  assert.ok(called.includes(desk), called);
  await showProcess(kit, page, "desk");
  const callers = await page.getByRole("region", { name: "Callers" }).textContent();
  assert.ok(callers.includes(clerk), callers);
  assert.match(called, /no deadline/);
  assert.match(callers, /a program outside.*set by the caller, not known here/);
  assert.match(await page.locator(".sentence").textContent(), /^It owes 3 answers, the oldest for [^;]+; it waits for a message\.$/);
  await page.getByText("Not recorded; press Record.").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function endedProcessIsNotAskedForInVain(kit) {
  const page = await kit.page({ role: "operator" });
  const refused = [];
  page.on("response", (response) => { if (!response.ok()) refused.push(new URL(response.url()).pathname); });
  await showProcess(kit, page, "failed");
  // Twice again.
  for (let i = 0; i < 2; i += 1) await page.waitForResponse(/ListFailures/);
  // The first question tells that it has ended.
  assert.deepEqual(refused, ["/actord.v1.ActorService/GetProcess"]);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function endedProcessSaysWhatTheDaemonKeeps(kit) {
  const page = await kit.page();
  await page.route("**/Await", (route) => route.fulfill({ status: 404, json: { code: "not_found", message: "not kept" } }));
  await showProcess(kit, page, "done");
  assert.match(await page.locator("main").textContent(),
    /keeps no result and no failure[\s\S]*keeps the result of a process for \d+[\s\S]*newest 1,000 failures/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function errorInOneViewLeavesTheOthers(kit) {
  const page = await kit.page();
  await page.route("**/ListPlugins", (route) => route.fulfill({ json: { plugins: [{}] } }));
  await kit.show(page, "plugins");
  await page.getByText("This view has an error").waitFor();
  await kit.show(page, "processes");
  await page.getByRole("region", { name: "Processes" }).waitFor();
  assert.equal(await page.locator(".error").count(), 0);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function unknownProcessIsAnError(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, "process/%E0%A4%A");
  assert.match(await page.locator(".error").textContent(), /INVALID_PID/);
}
