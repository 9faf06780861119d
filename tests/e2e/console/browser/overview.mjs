// The overview, and the view of stuck work: what is grouped, and how it is counted.
import assert from "node:assert/strict";

/** Changes the answers of a method. @param {import("./kit.mjs").Page} page @param {string} method @param {(answer: any) => void} change */
const answers = (page, method, change) => page.route(`**/${method}`, async (route) => {
  const response = await route.fetch();
  const json = await response.json();
  change(json);
  await route.fulfill({ response, json });
});

/** Calls count as old at once. @param {import("./kit.mjs").Page} page */
const withYoungCalls = (page) => page.route("**/ListCalls", (route) =>
  route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), olderThan: "0s" }) }));

/** @param {import("./kit.mjs").Kit} kit */
export async function eachReasonOfFailuresHasARow(kit) {
  const page = await kit.page();
  const region = page.getByRole("region", { name: "Failures by type and reason" });
  const cards = region.getByRole("row", { name: /card of order/ });
  await cards.waitFor();
  assert.match(await cards.textContent(), /^probeFAILED_PRECONDITION: the card of order 2 was refused \(the newest; the numbers differ\)3[^+]* ago/);
  // The newest failure of the type is another one.
  assert.match(await region.getByRole("row", { name: /no stock/ }).textContent(), /^probeEXCEPTION.*no stock1[^+]* ago/);
  await answers(page, "ListFailures", (answer) => { answer.nextPageToken = "1"; });
  await region.getByRole("row", { name: /card of order.* 3\+ / }).waitFor();
  await page.getByText(/\d processes failed since the start of the daemon/).waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function processesThatOweAnswersAreCounted(kit) {
  const page = await kit.page({ role: "", hours: 0.5 });
  await withYoungCalls(page);
  await kit.signIn(page, "operator", kit.order.port);
  await page.getByText(/^1 process owes answers to programs outside, the oldest for 3\d min/).waitFor();
  const row = page.getByRole("region", { name: "Processes that owe answers" }).getByRole("row", { name: /@desk/ });
  assert.match(await row.textContent(), /probe@desk33\d min.* ago2 programs outside, the first is admin, 127\.0\.0\.1:\d+, connection \d+, 1 process$/);
  await row.getByRole("link").click();
  await page.getByText(/^It owes 3 answers/).waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function stuckWorkIsGrouped(kit) {
  const page = await kit.page({ role: "operator", hours: 0.5 });
  await withYoungCalls(page);
  await answers(page, "ListYields", (answer) => {
    const [charge] = answer.yields.filter((one) => one.command === "payment.charge");
    answer.yields.push(...Array.from({ length: 29 }, (_, i) => ({ ...charge, pid: `${i + 1}.1` })));
  });
  await kit.show(page, "stuck");
  const progress = page.getByRole("heading", { name: "Other processes that make no progress" }).locator("xpath=following-sibling::p[1]");
  assert.equal(await progress.textContent(), "Comparing…");
  assert.deepEqual(await page.getByRole("heading", { level: 2 }).allTextContents(), ["Processes that owe answers",
    "Commands that remote workers carry out", "Processes that wait for the answer of another process",
    "Other processes that make no progress", "Quarantine"]);
  const row = page.getByRole("region", { name: "Commands that wait" }).getByRole("row", { name: /payment\.charge/ });
  assert.equal(await row.count(), 1);
  assert.match(await row.textContent(), /^3\d min.* agopayment\.chargeorder30no worker subscribes.*@orders\/17$/);
  const caller = page.getByRole("region", { name: "Processes that wait for an answer" });
  assert.doesNotMatch(await caller.textContent(), /program outside/);
  // The second answer shows the process whose step lasts.
  const others = page.getByRole("region", { name: "Other processes that make no progress" }).locator("tbody tr");
  await others.waitFor();
  assert.ok((await others.textContent()).startsWith(kit.order.pids.press));
  assert.match(await others.textContent(), /probe@pressrunning1has been in one step since the answer before$/);
  await kit.checkAccess(page, "stuck work");
  await row.getByRole("link", { name: "payment.charge" }).click();
  await page.getByRole("heading", { name: "Waiting commands" }).waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function reachedLimitComesFirst(kit) {
  const page = await kit.page({ role: "" });
  let refused = 692;
  await answers(page, "GetStatus", (answer) => {
    const use = answer.limitUse?.find((one) => one.name === "watches");
    if (!use) return;
    Object.assign(use, { fullSince: answer.startTime, refusedTotal: String(refused) });
    refused += 30;
  });
  await kit.signIn(page, "viewer", kit.order.port);
  const first = page.getByRole("region", { name: "Use of limits" }).getByRole("row").nth(1);
  assert.match(await first.textContent(), /^watches.*reached for .*692watch\.max_watches$/);
  await first.getByText("30 refusals since this page was opened").waitFor();
  assert.match(await first.textContent(), /722/);
  assert.doesNotMatch(await page.locator("main").textContent(), /was reached/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function tablesFitAPhone(kit) {
  const page = await kit.page({ viewport: { width: 400, height: 844 }, hours: 0.5 });
  for (const view of ["overview", "stuck", "clients", "failing", "letters"]) {
    await kit.show(page, view);
    const wide = await page.locator("main .scroll").evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute("aria-label")));
    assert.deepEqual(wide, [], view);
  }
}
