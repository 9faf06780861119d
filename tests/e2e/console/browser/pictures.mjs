// The pictures of the documentation.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { VIEWS } from "./kit.mjs";
import { smallPicture } from "./png.mjs";

const SIZE = { width: 860, height: 430 };
// A longer page is cut between two rows; the rest of some repeats what is above.
const MOST_HEIGHT = 1700;
/** @type {Record<string, number>} */
const HEIGHTS = { plugins: 850, workers: 800, logs: 720 };
// A process is stuck after a minute, which no clock here shortens: the pictures show
// times that belong together.
const PATIENCE_MS = 180_000;

/** Tables that have a row, by view. @type {Record<string, string[]>} */
const TABLES = {
  overview: ["Failures by type and reason", "Processes that owe answers", "Commands that wait"],
  failing: ["Failures"],
  stuck: ["Processes that owe answers", "Commands that wait", "Processes that wait for an answer",
    "Other processes that make no progress"],
};
/** Elements that come with a second sample, or when something was opened. @type {Record<string, string>} */
const PARTS = {
  overview: "figure canvas",
  clients: "td[data-head='Calls/s']",
  store: "figure canvas",
  trees: "ul.tree ul.tree a",
  process: ".timeline .bar-pending",
};

/** Starts processes, so that rates have something to show. @param {import("./kit.mjs").Kit} kit */
function load(kit) {
  let isOver = false;
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${kit.order.tokens.client}` };
  const running = (async () => {
    for (let round = 0; !isOver; round += 1) {
      const many = 1 + Math.round(4 + 4 * Math.sin(round / 15));
      for (let i = 0; i < many; i += 1) {
        await fetch(`http://127.0.0.1:${kit.order.port}/v1/processes/echo?durability=DURABILITY_VOLATILE&wait=5`,
          { method: "POST", headers, body: "1" }).then((answer) => assert.equal(answer.status, 200));
      }
      await new Promise((resolve) => { setTimeout(resolve, 200); });
    }
  })();
  return () => { isOver = true; return running; };
}

/** Waits until the view has all that its picture is to show. @param {import("./kit.mjs").Page} page @param {string} name */
async function complete(page, name) {
  const timeout = PATIENCE_MS;
  for (const table of TABLES[name] ?? []) {
    await page.getByRole("region", { name: table }).getByRole("row").nth(1).waitFor({ timeout });
  }
  if (PARTS[name]) await page.locator(PARTS[name]).first().waitFor({ timeout });
  // The rates come with the second sample.
  if (name === "clients") await page.waitForFunction(() => /[1-9]/.test(document.querySelector("td[data-head='Calls/s']")?.textContent ?? ""));
}

/** Where the picture of the page ends. @param {import("./kit.mjs").Page} page @param {number} highest @returns {Promise<number>} */
const heightOf = (page, highest) => page.evaluate((most) => {
  const whole = document.documentElement.scrollHeight;
  if (whole <= most) return whole;
  const ends = [...document.querySelectorAll("main tr, main li, main p, main figure, main dl")]
    .map((one) => Math.ceil(one.getBoundingClientRect().bottom + scrollY));
  return Math.max(...ends.filter((end) => end < most));
}, highest);

/** Before the strange texts are there. @param {import("./kit.mjs").Kit} kit */
export async function takePictures(kit) {
  const endLoad = load(kit);
  const page = await kit.page({ role: "operator", viewport: SIZE });
  for (const view of [...VIEWS, `process/${encodeURIComponent(kit.order.pids.order)}`]) {
    const [name] = view.split("/");
    await kit.show(page, view);
    if (name === "trees") await page.getByRole("button", { name: /Children of/ }).first().click();
    await complete(page, name);
    await page.evaluate(() => {
      // The state of the connection says nothing in a picture.
      document.querySelector("header .bar").classList.add("hidden");
      // The folder of the build does not belong into the documentation either.
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        texts.currentNode.data = texts.currentNode.data.replace(/\/\S+\/lib\/actord\//g, "/usr/lib/actord/");
      }
    });
    const height = await heightOf(page, HEIGHTS[name] ?? MOST_HEIGHT);
    const png = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width: SIZE.width, height } });
    await writeFile(`${kit.order.pictures}/${name}.png`, smallPicture(png));
  }
  await endLoad();
}
