// Texts of strangers: shown, and never obeyed.
import assert from "node:assert/strict";

const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;

/** @param {import("./kit.mjs").Kit} kit */
export async function hostileTextIsShownAndNotObeyed(kit) {
  const page = await kit.sharedPage();
  const { pids } = kit.order;
  const places = {
    failing: /<script>window\.hacked=1<\/script>/,
    yields: /<img src=x onerror=/,
    workers: /<b>\\u\{1b\}\[2J\\u\{202e\}/,
    letters: /\\u\{202e\}gnp\.exe/,
    overview: /./,
    [`process/${encodeURIComponent(pids["hostile failure"])}`]: /\\u\{1b\}\[2J\\u\{202e\}gnp\.exe/,
    [`process/${encodeURIComponent(pids.hostile)}`]: /<b>\\u\{1b\}/,
    [`processes?type=${encodeURIComponent(kit.order.hostile)}`]: /No process matches|INVALID/,
  };
  for (const [view, wanted] of Object.entries(places)) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/${view}`);
    await page.locator("main", { hasText: wanted }).waitFor();
    const text = await page.locator("body").textContent();
    assert.doesNotMatch(text, ACTING, view);
    assert.deepEqual(await page.evaluate(() => [window.hacked, document.querySelectorAll("img, main script, main b").length]), [undefined, 0], view);
  }
}

/** @param {import("./kit.mjs").Kit} kit */
export async function linesForTheShellAreQuoted(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, `process/${encodeURIComponent(kit.order.pids.heir)}`);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByLabel("Topic").fill("it's; $(reboot)");
  await page.getByLabel("Payload").fill("@/etc/passwd\n\u202e");
  const line = await page.getByRole("region", { name: "actorctl" }).textContent();
  assert.equal(line, `printf %s $'@/etc/passwd\\x0a\\U0000202e' | actorctl send ${kit.order.pids.heir} - '--topic=it'\\''s; $(reboot)'`);
  const curl = await page.getByRole("region", { name: "curl" }).textContent();
  assert.doesNotMatch(curl, new RegExp(kit.order.tokens.admin));
  assert.match(curl, /\$\(cat token\.file\)/);
  await page.getByText("replace token.file with the path of the file that holds your token").waitFor();
  await page.keyboard.press("Escape");
  await kit.show(page, "clients");
  await page.getByRole("button", { name: "Cut" }).first().click();
  assert.match(await page.getByRole("region", { name: "actorctl" }).textContent(), /^actorctl clients --cut \d+$/);
  await page.keyboard.press("Escape");
}
