// The pictures of the documentation.
import { writeFile } from "node:fs/promises";
import { VIEWS } from "./kit.mjs";
import { smallPicture } from "./png.mjs";

const SIZE = { width: 860, height: 430 };

/** Before the strange texts are there. @param {import("./kit.mjs").Kit} kit */
export async function takePictures(kit) {
  const page = await kit.page({ role: "operator", viewport: SIZE });
  // Some points in the charts.
  await page.waitForFunction(() => document.querySelectorAll("figcaption strong")[1].textContent !== "…");
  for (const view of [...VIEWS, `process/${encodeURIComponent(kit.order.pids.order)}`]) {
    await kit.show(page, view);
    if (view === "trees") await page.getByRole("button", { name: /Children of/ }).first().click();
    // The text behind the frame is cut in its middle otherwise.
    await page.evaluate(() => document.querySelector("header .bar").remove());
    // The folder of the build does not belong into the documentation either.
    await page.evaluate(() => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        texts.currentNode.data = texts.currentNode.data.replace(/\/\S+\/lib\/actord\//g, "/usr/lib/actord/");
      }
    });
    const png = await page.screenshot();
    await writeFile(`${kit.order.pictures}/${view.split("/")[0]}.png`, smallPicture(png));
    await page.reload();
  }
}
