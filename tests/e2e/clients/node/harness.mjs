// The common parts of the tests in Node. The daemon and its restarts belong to node_test.py.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { Client } from 'actord';

export const WAIT_MS = Number(process.env.WAIT_MS);
export const ADDRESS = process.env.ACTORD_ADDRESS;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function eventually(condition, what) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${WAIT_MS} ms for ${what}`);
    await sleep(10);
  }
}

// A client that ends with the test.
export function clientOf(test, options = {}) {
  const client = new Client({ timeoutMs: WAIT_MS, ...options });
  test.after(() => client.close());
  return client;
}

export async function caught(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail('it has not failed');
}

export async function all(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}

// Loses the first answer to a call on its way, as a broken connection does.
export function loseFirstAnswer(client, method) {
  const call = client.stub[method].bind(client.stub);
  let lost = false;
  client.stub[method] = (request, metadata, options, done) => call(
    request, metadata, options, (error, response) => {
      if (error || lost) {
        done(error, response);
        return;
      }
      lost = true;
      done(Object.assign(new Error('Socket closed'), {
        code: 14, details: 'Socket closed', metadata: null,
      }));
    });
}

let lines;

// Asks node_test.py to do something with the daemon, and waits until it is done.
export async function ask(what) {
  lines ??= createInterface({ input: process.stdin });
  process.stdin.ref();
  const answer = once(lines, 'line');
  process.stdout.write(`@${what}\n`);
  const [line] = await answer;
  assert.equal(line, 'done');
  process.stdin.unref(); // the program may end
}

// The set of PIDs that a watch describes.
export function apply(live, event) {
  if (event.kind === 'snapshot') {
    if (event.first) live.clear();
    for (const { pid } of event.processes) live.add(pid);
  } else if (event.kind === 'started') {
    live.add(event.pid);
  } else if (event.kind === 'ended') {
    live.delete(event.pid);
  }
}
