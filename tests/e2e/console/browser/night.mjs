// An operator finds the cause at night, from the overview within three clicks.
import assert from "node:assert/strict";

/** @param {import("./kit.mjs").Kit} kit */
export async function findsWhatFailsAndWhy(kit) {
  const page = await kit.sharedPage("operator");
  const row = page.getByRole("region", { name: "Failures by type and reason" }).getByRole("row", { name: /card of order/ });
  await row.waitFor();
  assert.match(await row.textContent(), /probe.*card of order 2.*3/);
  await row.getByRole("link", { name: "probe" }).click();
  const failures = page.getByRole("region", { name: "Failures" });
  await failures.waitFor();
  assert.match(await failures.textContent(), /no stock/);
  await failures.getByRole("row", { name: /card of order 2/ }).getByRole("link").first().click();
  await page.getByText("It has failed").waitFor();
}

/** @param {import("./kit.mjs").Kit} kit */
export async function findsWhatIsStuckAndOnWhat(kit) {
  // Nothing has waited for a minute yet, but by the clock of this page.
  const page = await kit.page({ role: "operator", hours: 0.5 });
  const row = page.getByRole("region", { name: "Commands that wait" }).getByRole("row", { name: /payment\.charge/ });
  assert.match(await row.textContent(), /order.*no worker subscribes to it/);
  await row.getByRole("link").last().click();
  assert.match(await page.locator(".sentence").textContent(), /It waits for the command payment\.charge/);
}

/** @param {import("./kit.mjs").Kit} kit */
export async function resendsADeadLetter(kit) {
  const page = await kit.sharedPage("operator");
  await page.getByRole("link", { name: "2 dead letters" }).click();
  await page.getByRole("row", { name: /pay / }).getByRole("button", { name: "Resend" }).click();
  await page.getByLabel("To another process").fill("@heir@admin");
  await page.getByRole("dialog").getByRole("button", { name: "Resend" }).click();
  await page.getByText(`The message was sent to ${kit.order.pids.heir}.`).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("row", { name: /pay / }).waitFor({ state: "detached" });
}
