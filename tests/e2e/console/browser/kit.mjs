// The common parts of the scenarios: pages, checks, and the program that started this one.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

/** @typedef {import("playwright-core").Page} Page */

export const VIEWS = ["overview", "failing", "stuck", "processes", "yields", "workers",
  "letters", "trees", "plugins", "clients", "logs", "store"];

export class Kit {
  /** @type {string[]} what the pages have complained about */
  complaints = [];
  #lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

  /** @param {any} order of the program that started this one */
  constructor(order) {
    this.order = order;
    this.require = createRequire(`${order.packages}/`);
  }

  async start() {
    this.browser = await this.require("playwright-core").chromium.launch({
      executablePath: this.order.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
  }

  /**
   * The page that all scenarios share that need nothing but a role: signed in, and
   * at the overview. A page costs more than most scenarios.
   * @param {string} [role]
   * @returns {Promise<Page>}
   */
  async sharedPage(role = "admin") {
    if (!this.#shared.has(role)) this.#shared.set(role, await this.page({ role }));
    const page = this.#shared.get(role);
    await this.show(page, "overview");
    return page;
  }

  /** @type {Map<string, Page>} */
  #shared = new Map();

  /** Ends the pages that are not shared. */
  async closePages() {
    const kept = [...this.#shared.values()].map((page) => page.context());
    for (const context of this.browser.contexts()) {
      if (kept.includes(context)) continue;
      // A handler of a route may wait for an answer of the daemon.
      for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    }
  }

  /** Ends the shared pages, too. */
  forgetPages() {
    this.#shared.clear();
    return this.closePages();
  }

  /**
   * A page in a context of its own, signed in as `role`; "": not signed in.
   * @param {{role?: string, port?: number, hours?: number} & import("playwright-core").BrowserContextOptions} [options]
   *     hours: how far the clock of the page is ahead
   * @returns {Promise<Page>}
   */
  async page({ role = "admin", port = this.order.port, hours = 0, ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1000, height: 700 }, ...options });
    context.setDefaultTimeout(this.order.waitMs);
    const page = await context.newPage();
    this.#listen(page);
    if (hours) {
      await page.addInitScript((ms) => {
        const now = Date.now;
        Date.now = () => now() + ms;
      }, hours * 3_600_000);
    }
    if (role) await this.signIn(page, role, port);
    else await page.goto(this.url("overview", port));
    return page;
  }

  /** @param {string} view @param {number} [port] */
  url = (view, port = this.order.port) => `http://127.0.0.1:${port}/console/#/${view}`;

  /** @param {Page} page */
  #listen(page) {
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack}`));
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      // A call that fails is the console's to show, and some scenarios want that.
      if (/^Failed to load resource/.test(message.text()) && !message.location().url.includes("/console/")) return;
      this.complaints.push(`${message.text()} at ${message.location().url}`);
    });
  }

  /** @param {Page} page @param {string} role @param {number} port */
  async signIn(page, role, port) {
    await page.goto(this.url("overview", port));
    await page.getByLabel("Token").fill(this.order.tokens[role]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  }

  /** Shows a view of the page and waits for its data. @param {Page} page @param {string} view */
  async show(page, view) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/${view}`);
    await page.waitForFunction((hash) => location.hash === hash && document.querySelector("main h1") &&
      !document.querySelector("main").textContent.includes("Loading…"), `#/${view}`);
  }

  /** @param {Page} page @param {string} what @param {string[]} [rules]
      of axe; by default all of WCAG 2.1 AA and its best practices */
  async checkAccess(page, what, rules) {
    // axe adds its script by itself, which the policy of the page would not permit.
    await page.evaluate(this.#axe ??= this.require("axe-core").source);
    const found = await page.evaluate((runOnly) => window.axe.run(document, { runOnly }),
      rules ?? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]);
    const violations = found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((one) => one.html.slice(0, 200)).join(" | ")}`);
    assert.deepEqual(violations, [], what);
  }

  #axe;

  /** Asks the other program for something, and waits until it is done. @param {string} what */
  async ask(what) {
    process.stdout.write(`${JSON.stringify({ ask: what })}\n`);
    this.order.pids = JSON.parse((await this.#lines.next()).value);
  }
}
