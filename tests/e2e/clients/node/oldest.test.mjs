// The package with the oldest daemon. The daemon belongs to oldest/daemon_test.py.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { all, caught, clientOf, eventually, loseFirstAnswer, WAIT_MS }
  from './harness.mjs';

const ORDER = { order: 'A-1', amount_cents: 5, hold_ms: 1 };

async function tooOld(promise, message) {
  const error = await caught(promise);
  assert.ok(error instanceof actord.DaemonTooOld, String(error));
  assert.equal(error.code, 'UNIMPLEMENTED');
  assert.match(error.message, message);
  return error;
}

test('processes are started, driven and awaited', async (t) => {
  const client = clientOf(t);
  const counter = await client.submit('counter', '40', { name: 'count' });
  assert.deepEqual([counter.duplicate, counter.durability, counter.receipt],
    [false, 'UNSPECIFIED', 'UNSPECIFIED']);
  const held = await client.submit('counter', '', {
    name: 'count', onNameConflict: 'DELIVER', labels: { tenant: 'acme' },
  });
  assert.deepEqual([held.pid, held.delivered], [counter.pid, true]);
  await client.send('@count', '1', { topic: 'add' });
  const stream = client.sendStream();
  await stream.send(counter, '1', { topic: 'add' });
  await stream.close();
  assert.equal((await client.call(counter, '', { topic: 'get' })).json(), 42);
  assert.deepEqual((await client.describe(counter)).labels, {});
  const watch = client.watch('counter', { timeoutMs: WAIT_MS });
  const snapshot = (await watch.next()).value;
  assert.deepEqual(snapshot.processes.map(({ pid }) => pid), [counter.pid]);
  assert.equal(await client.cancel(counter), 'UNSPECIFIED');
  const ended = (await watch.next()).value;
  assert.deepEqual([ended.kind, ended.pid], ['ended', counter.pid]);
  watch.close();
  assert.equal((await client.awaitOutcome(counter)).text, '42');
  assert.equal((await client.run('echo', 'hello')).text, 'hello');
  const error = await caught(client.send('@count'));
  assert.ok(error instanceof actord.NameNotFound, String(error));
  assert.equal((await client.invoke('GetStatus')).state, 'DAEMON_STATE_SERVING');
});

test('external commands are completed', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('order', ORDER);
  const [waiting] = await eventually(async () => {
    const found = await all(client.yields('payment.*', { pid }));
    return found.length > 0 && found;
  }, 'the yield');
  assert.deepEqual(await client.completeYield(waiting.token, 'paid'),
    { answer: 'ACCEPTED', receipt: 'UNSPECIFIED' });
  assert.equal((await client.awaitOutcome(pid)).json().payment, 'paid');
  const worker = new actord.Worker({ client });
  worker.command('payment.charge', async (task) => task.json().order);
  await worker.start();
  assert.equal((await client.run('order', ORDER)).json().payment, 'A-1');
  await worker.stop();
});

test('a part that the daemon ignores is an error', async (t) => {
  const client = clientOf(t);
  for (const start of ['submit', 'run']) {
    const error = await tooOld(client[start]('counter', '1', { durability: 'DURABLE' }),
      /too old for durability .*process/);
    assert.equal((await client.call(error.pid, '', { topic: 'get' })).json(), 1);
    await tooOld(client[start]('counter', '1', { labels: { tenant: 'acme' } }),
      /too old for labels .*process/);
  }
  const pid = await client.submit('counter', '0', { durability: 'VOLATILE' });
  await tooOld(all(client.ps('', { labels: { tenant: null } })), /too old for labels/);
  const watch = client.watch('', { labels: { tenant: 'a' }, timeoutMs: WAIT_MS });
  await tooOld(watch.next(), /too old for labels/);
  assert.ok((await watch.next()).done);
  await tooOld(client.cancel(pid, '', { deadlineMs: 5000 }),
    /too old for the deadline/);
});

test('a call that the daemon does not have is an error', async (t) => {
  const client = clientOf(t);
  await tooOld(client.subscribe('*').open(), /does not have this call/);
  const error = await caught(all(client.ended()));
  assert.ok(error instanceof actord.InvalidArgument, String(error));
});

test('a call is not made twice', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('counter', '40');
  loseFirstAnswer(client, 'Call');
  const error = await caught(client.call(pid, '2', { topic: 'add', messageId: 'once' }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /does not know messageId/);
  assert.equal((await client.call(pid, '', { topic: 'get' })).json(), 42);
});
