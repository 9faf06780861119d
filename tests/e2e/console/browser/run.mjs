// Runs all scenarios in one browser. Prints one line of JSON with the problems.
import { Kit } from "./kit.mjs";
import * as actions from "./actions.mjs";
import * as clients from "./clients.mjs";
import * as hostile from "./hostile.mjs";
import * as life from "./life.mjs";
import * as many from "./many.mjs";
import * as night from "./night.mjs";
import * as overview from "./overview.mjs";
import * as process_ from "./process.mjs";
import { takePictures } from "./pictures.mjs";
import * as views from "./views.mjs";

const kit = new Kit(JSON.parse(process.argv[2]));
// In this order: the actions change what the others look at, and `life` kills the
// daemon.
const scenarios = Object.entries({ ...views, ...overview, ...clients, ...process_, ...hostile, ...night, ...many, ...actions, ...life });
/** @type {Record<string, string>} */
const problems = {};
await kit.start();
if (kit.order.pictures) await takePictures(kit);
await kit.ask("hostile");
for (const [name, run] of scenarios) {
  if (kit.order.only && !name.includes(kit.order.only)) continue;
  const began = performance.now();
  kit.complaints = [];
  try {
    await run(kit);
    if (kit.complaints.length > 0) problems[name] = kit.complaints.join("\n");
  } catch (error) {
    problems[name] = [error.stack, ...kit.complaints].join("\n");
  }
  // After a failure a page may have a dialog open.
  await (problems[name] ? kit.forgetPages() : kit.closePages());
  process.stderr.write(`${name}: ${Math.round(performance.now() - began)} ms\n`);
}
await kit.browser.close();
process.stdout.write(`${JSON.stringify({ problems })}\n`);
process.exit(0);
