// The view of clients: who causes the load.
import assert from "node:assert/strict";

/** @param {import("./kit.mjs").Kit} kit */
export async function busyClientComesFirst(kit) {
  const page = await kit.page({ role: "operator" });
  let calls = 0;
  const client = (connection, name, more = {}) => ({
    connection, address: `192.0.2.1:${connection}`, protocol: "CLIENT_PROTOCOL_GRPC", state: "CLIENT_STATE_IDLE",
    connectTime: new Date().toISOString(), token: { name, id: name, role: "client" }, callsBegun: "1", callsOpen: "1", ...more });
  await page.route("**/ListClients", (route) => {
    calls += 1000;
    return route.fulfill({ json: { clients: [client("1", "quiet"),
      client("2", "busy", { callsBegun: String(calls) }), client("3", "busy", { callsBegun: String(calls) }),
      client("4", "me", { isOwn: true, protocol: "CLIENT_PROTOCOL_HTTP", address: "192.0.2.9:1" }),
      client("5", "", { token: undefined, protocol: "CLIENT_PROTOCOL_HTTP", address: "192.0.2.9:2" }),
      client("6", "", { token: undefined, protocol: "CLIENT_PROTOCOL_HTTP", address: "192.0.2.8:2" })] } });
  });
  await kit.show(page, "clients");
  const texts = (name) => page.getByRole("region", { name }).locator("tbody tr").allTextContents();
  await page.waitForFunction(() => /^busy/.test(document.querySelector("tbody tr")?.textContent ?? ""));
  const sums = await texts("By client");
  assert.match(sums[0], /^busy \(client\)2\d/);
  // Two connections, each with the same rate.
  const rate = (text) => Number(text.replaceAll(",", ""));
  const rates = await page.locator("td[data-head='Calls/s']").allTextContents();
  assert.ok(Math.abs(rate(rates[0]) - 2 * rate(rates[sums.length])) <= 2, rates.join(" "));
  const rows = await texts("Connections");
  assert.deepEqual(rows.map((text) => text[0]), ["2", "3", "1", "6"]);
  await page.getByText("2 connections of this page are not shown").waitFor();
  await page.getByText("actorctl clients --sort calls").waitFor();
  // An operator may not cut connections, and an order applies at once.
  assert.equal(await page.getByRole("columnheader", { name: "Actions" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Filter" }).count(), 0);
  await page.getByLabel("Connections of this page").selectOption("shown");
  await page.getByRole("region", { name: "Connections" }).getByText("192.0.2.9:1").waitFor();
  await kit.checkAccess(page, "clients");
}

/** @param {import("./kit.mjs").Kit} kit */
export async function adminMayCutAConnection(kit) {
  const page = await kit.sharedPage();
  await kit.show(page, "clients");
  await page.getByRole("columnheader", { name: "Actions" }).waitFor();
  const workers = page.getByRole("region", { name: "By client" }).getByRole("row", { name: /^worker/ });
  assert.match(await workers.textContent(), /^worker \(worker\)2/);
}
