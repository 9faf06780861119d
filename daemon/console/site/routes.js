// Which view an address shows.
import { may } from "./actions.js";
import { Clients } from "./views/clients.js";
import { Failing } from "./views/failing.js";
import { Letters } from "./views/letters.js";
import { Logs } from "./views/logs.js";
import { Overview } from "./views/overview.js";
import { Plugins } from "./views/plugins.js";
import { ProcessView } from "./views/process.js";
import { Processes } from "./views/processes.js";
import { Store } from "./views/store.js";
import { Stuck } from "./views/stuck.js";
import { Trees } from "./views/trees.js";
import { Workers } from "./views/workers.js";
import { Yields } from "./views/yields.js";

/**
 * @typedef {object} Route
 * @property {string} path
 * @property {string} label
 * @property {any} view
 * @property {(app: any) => boolean} isShown in the list of views
 */

/** @param {string} path @param {string} label @param {any} view @param {Route["isShown"]} [isShown] @returns {Route} */
const named = (path, label, view, isShown = () => true) => ({ path, label, view, isShown });

export const NAMED = [
  named("overview", "Overview", Overview),
  named("failing", "Failing", Failing),
  named("stuck", "Stuck", Stuck),
  named("processes", "Processes", Processes),
  named("yields", "Waiting commands", Yields),
  named("workers", "Remote workers", Workers),
  named("letters", "Dead letters", Letters),
  named("trees", "Trees", Trees),
  named("plugins", "Plugins", Plugins),
  named("clients", "Clients", Clients, (app) => may(app, "ListClients")),
  named("logs", "Log", Logs, (app) => may(app, "ListLogLines")),
  named("store", "Store", Store, (app) => app.hasStore),
];
const PROCESS = named("process", "Process", ProcessView, () => false);

/**
 * @param {string} hash "#/process/1.2.3?x=y"
 * @returns {{route: Route, query: URLSearchParams, rest: string}}
 */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first, ...rest] = path.split("/");
  const route = first === PROCESS.path ? PROCESS : NAMED.find((one) => one.path === first) ?? NAMED[0];
  let name = rest.join("/");
  try {
    name = decodeURIComponent(name);
  } catch {
    // The daemon says that it is no PID.
  }
  return { route, query: new URLSearchParams(query), rest: name };
}
