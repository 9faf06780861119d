// Subscription.
import assert from 'node:assert/strict';
import test from 'node:test';

import { WAIT_MS, all, caught, clientOf } from './harness.mjs';

test('publications arrive', async (t) => {
  const client = clientOf(t);
  const herald = await client.submit('probe.herald');
  const subscription = client.subscribe(['room/7', 'price/*'], { timeoutMs: WAIT_MS });
  await subscription.open();
  // None of these is missed.
  await client.send(herald, { move: 1 }, { topic: 'room/7' });
  await client.send(herald, 'not for us', { topic: 'room/8' });
  await client.send(herald, 'text', { topic: 'price/oil', contentType: 'text/plain' });
  const { value: first } = await subscription.next();
  const { value: second } = await subscription.next();
  assert.deepEqual(
    [first.topic, first.payload.json(), first.publisherPid, first.sequence, first.missed],
    ['room/7', { move: 1 }, herald.pid, 1, 0],
  );
  assert.deepEqual([second.topic, second.payload.text, second.sequence],
    ['price/oil', 'text', 2]);
  assert.ok(first.publishTime <= second.publishTime);
  subscription.close();
});

test('a program that is too slow learns what it has missed', async (t) => {
  const client = clientOf(t);
  const herald = await client.submit('probe.herald');
  const subscription = await client.subscribe('burst').open();
  for (let i = 0; i < 40; ++i) await client.call(herald, '100 10000', { topic: 'burst' });
  let missed = 0;
  let sequence = 0;
  for await (const publication of subscription) {
    missed += publication.missed;
    sequence += publication.missed + 1;
    assert.equal(publication.sequence, sequence);
    if (sequence === 4000) break;
  }
  const status = await client.invoke('GetStatus', {});
  assert.equal(status.counters.publicationsLostTotal, missed);
  assert.ok(missed > 0);
});

test('a subscription ends at its timeout, when it is closed, or aborted', async (t) => {
  const client = clientOf(t);
  assert.deepEqual(await all(client.subscribe('*', { timeoutMs: 200 })), []);
  const subscription = client.subscribe('*');
  setTimeout(() => subscription.close(), 50);
  assert.deepEqual(await all(subscription), []);
  const aborted = await caught(all(
    client.subscribe('*', { signal: AbortSignal.timeout(50) })));
  assert.equal(aborted.name, 'TimeoutError');
  const error = await caught(client.subscribe('a*b').open());
  assert.equal(error.reason, 'INVALID_FIELD');
  assert.throws(() => client.subscribe('a', { timeout: 1 }), /did you mean timeoutMs/);
});
