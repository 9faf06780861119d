// Buttons: what they do, who has them, and the keyboard.
import assert from "node:assert/strict";
import { VIEWS } from "./kit.mjs";

/** @param {import("./kit.mjs").Kit} kit */
export async function viewerSeesNoButtonThatItMayNotUse(kit) {
  const page = await kit.page({ role: "viewer" });
  const nav = page.getByRole("navigation", { name: "Views" });
  assert.equal(await nav.getByRole("link", { name: "Log" }).count(), 0);
  assert.equal(await nav.getByRole("link", { name: "Clients" }).count(), 0);
  const harmless = /^(Pause|Sign out|Filter|Show|\+|Next|Previous|)$/;
  const views = [...VIEWS.filter((view) => view !== "clients" && view !== "logs"),
    ...["order", "held"].map((name) => `process/${encodeURIComponent(kit.order.pids[name])}`)];
  for (const view of views) {
    await kit.show(page, view);
    const buttons = await page.getByRole("button").allTextContents();
    assert.deepEqual(buttons.filter((text) => !harmless.test(text)), [], view);
  }
  // Nor a payload.
  assert.doesNotMatch(await page.locator("main").textContent(), /sheet 9/);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("This daemon checks tokens.").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function clientHasItsOwnButtons(kit) {
  const page = await kit.sharedPage("client");
  await kit.show(page, "processes");
  // It sees its own processes alone, and there are none.
  await page.getByText("No process matches.").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function commandIsCompletedByHand(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, "yields?command=manual.approve");
  const row = page.getByRole("row", { name: /"invoice": ?4/ });
  await row.getByRole("button", { name: "Complete" }).click();
  await page.getByRole("textbox", { name: "Result" }).fill('{"approved": true}');
  await page.getByRole("dialog").getByRole("button", { name: "Complete" }).click();
  await page.getByText("The answer of the daemon: accepted.").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await row.waitFor({ state: "detached" });
  await kit.show(page, `process/${encodeURIComponent(kit.order.pids.manual)}`);
  await page.getByRole("region", { name: "result" }).getByText("approved").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function lastStepsAreRecorded(kit) {
  const page = await kit.sharedPage();
  const dialog = page.getByRole("dialog");
  /** Presses the button, and the button of its dialog. */
  const act = async (name, fields = {}) => {
    await page.getByRole("button", { name, exact: true }).click();
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text);
    await dialog.getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name: "Close" }).click();
  };
  await kit.show(page, `process/${encodeURIComponent(kit.order.pids.desk)}`);
  await page.getByText("Not recorded; press Record.").waitFor();
  await act("Record");
  await page.getByText(/Recorded since .*no step since/).waitFor();
  await act("Send", { Topic: "note <b>", Payload: "12345" });
  const steps = page.locator(".steps > li");
  await steps.first().waitFor();
  const text = await steps.first().textContent();
  assert.match(text, /Step \d+[\s\S]*step[\s\S]*idle[\s\S]*in [\d.]+s[\s\S]*message[\s\S]*note <b>[\s\S]*5 B/);
  await kit.checkAccess(page, "recorded steps");
  await act("Stop recording");
  await page.getByText("Not recorded; press Record.").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function treesOpen(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, "trees");
  await page.getByRole("button", { name: `Children of ${kit.order.pids.tree}` }).click();
  const child = page.locator(".tree .tree li").first();
  await child.getByText("a: running, 0 restarts").waitFor();
  await page.getByText("b: ended, 0 restarts, last end: cancelled: Küche").waitFor();
  assert.match(await child.textContent(), /counter/);
  assert.equal(await child.getByRole("link").count(), 1);
  await kit.checkAccess(page, "an open tree");
}

/** Tabs until the element with this text has the focus. */
async function tabTo(page, text) {
  for (let i = 0; i < 80; i += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => document.activeElement?.textContent ?? "");
    if (focused.trim() === text) return;
  }
  assert.fail(`the keyboard does not reach ${text}`);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function keyboardIsEnough(kit) {
  const page = await kit.sharedPage();
  await tabTo(page, "Processes");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  await tabTo(page, kit.order.pids.heir);
  await page.keyboard.press("Enter");
  await page.getByText("It waits for a message.").waitFor();
  assert.match(await page.locator(".sentence").textContent(), /^It waits for a message\. No command of it is outstanding\.$/);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "title");
  await tabTo(page, "Terminate");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Terminate");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.waitForFunction(() => document.activeElement instanceof HTMLInputElement);
  await page.keyboard.type("at night");
  await page.keyboard.press("Enter");
  await page.getByText("The process takes no further step.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("It was terminated: ABORTED: at night").waitFor();
}

/** The browser fires the close event of a dialog in a later task. @param {import("./kit.mjs").Kit} kit */
export async function dialogOpensRightAfterAnother(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, `process/${encodeURIComponent(kit.order.pids.tree)}`);
  const button = await page.getByRole("button", { name: "Terminate" }).elementHandle();
  await button.click();
  await page.getByLabel("Reason").fill("of the first one");
  await button.evaluate((/** @type {HTMLButtonElement} */ terminate) => {
    document.querySelector("dialog").close();
    terminate.click();
  });
  await page.waitForTimeout(500);
  assert.equal(await page.getByRole("dialog").count(), 1);
  assert.equal(await page.getByLabel("Reason").inputValue(), "");
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
}
