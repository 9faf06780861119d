// The fate of calls, streams and workers when the daemon is killed and started
// again.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { apply, ask, caught, clientOf, eventually } from './harness.mjs';

test('calls, streams, watches and workers outlive a restart', async (t) => {
  const client = clientOf(t, { maxAttempts: 50 });
  const counter = () => client.submit('counter', '0', { durability: 'DURABLE' });
  const [pid, streamed] = [await counter(), await counter()];
  assert.deepEqual([pid.durability, pid.receipt], ['DURABLE', 'LOGGED']);
  const outcome = client.awaitOutcome(pid);

  let done = false;
  let sent = 0;
  const sending = (async () => {
    while (!done) {
      await client.send(pid, '1', { topic: 'add' });
      sent += 1;
    }
  })();
  const stream = client.sendStream({ maxUnacknowledged: 500 });
  let items = 0;
  const streaming = (async () => {
    while (!done) {
      await stream.send(streamed, '1', { topic: 'add' });
      if (++items % 100 === 0) await stream.flush();
    }
  })();
  const live = new Set();
  const watch = client.watch('counter');
  const watching = (async () => {
    for await (const event of watch) apply(live, event);
  })();

  const release = {};
  const released = new Promise((resolve) => { release.now = resolve; });
  let begun = false;
  const worker = new actord.Worker({ client, concurrency: 1, onWarning() {} })
    .command('payment.charge', async () => {
      begun = true;
      await released;
      return 'receipt';
    });
  t.after(() => worker.close());
  await worker.start();
  const orderOf = (order) => client.submit('order',
    { order, amount_cents: 1, hold_ms: 1 }, { durability: 'DURABLE' });
  const order = await orderOf('A');

  await eventually(() => begun && sent > 20 && items > 200 && live.size === 2,
    'everything under way');
  await ask('kill');
  release.now(); // the result is there before the daemon is
  await ask('start');
  const before = [sent, items];
  await eventually(() => sent > before[0] + 20 && items > before[1] + 200,
    'everything under way again');
  const late = await counter();
  await eventually(() => live.has(late.pid) && live.size === 3, 'the right set');
  done = true;
  await Promise.all([sending, streaming]);
  await stream.close();
  watch.close();
  await watching;

  const get = async (of) => (
    await client.call(of, '', { topic: 'get', messageId: `of ${of}` })).json();
  assert.equal(await get(pid), sent);
  assert.equal(await get(streamed), items);
  assert.equal(stream.acknowledged, items);
  await client.send(pid, '', { topic: 'stop' });
  const end = await outcome;
  assert.deepEqual([Number(end.text), end.receipt], [sent, 'LOGGED']);
  assert.equal((await client.awaitOutcome(order)).json().payment, 'receipt');
  assert.equal((await client.awaitOutcome(await orderOf('B'))).json().status,
    'charged');
  worker.stop();
  await worker.join();
});

test('a watch keeps the process that the name of its parent meant', async (t) => {
  const client = clientOf(t, { maxAttempts: 50 });
  await client.submit('counter', '0', { name: 'tree', durability: 'VOLATILE' });
  const watch = client.watch('', { parentPid: '@tree' });
  t.after(() => watch.close());
  assert.ok((await watch.next()).value.last);
  await ask('kill');
  await ask('start');
  // Nobody holds the name now.
  assert.equal((await watch.next()).value.kind, 'missed');
  assert.ok((await watch.next()).value.last);
});

test('a watch and a stream give up without a daemon', async (t) => {
  const client = clientOf(t, { timeoutMs: 300 });
  const watch = client.watch();
  assert.ok((await watch.next()).value.first);
  const stream = client.sendStream();
  await stream.flush();
  await ask('kill');
  for (const broken of [
    await caught((async () => { for await (const event of watch) assert.ok(event); })()),
    await caught((async () => {
      for (;;) await stream.send('@a', '', { messageId: 'm' });
    })())]) {
    assert.ok(broken instanceof actord.Unavailable, String(broken));
  }
});
