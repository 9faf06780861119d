// SendStream and Watch.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { all, ask, caught, clientOf, eventually, WAIT_MS }
  from './harness.mjs';

test('items arrive in order and are acknowledged', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('probe', '', { method: 'collect' });
  const stream = client.sendStream({ maxUnacknowledged: 10 });
  for (let begin = 0; begin < 400; begin += 40) {
    // Without await: most of them have to wait for room.
    const sends = Array.from({ length: 40 }, (_, i) => (
      stream.send(pid, begin + i, { topic: 'n' })));
    assert.deepEqual(await Promise.all(sends), sends.map((_, i) => begin + i));
    await stream.flush();
    // The probe may be slower than the stream.
    await eventually(async () => (await client.describe(pid)).mailboxMessages === 0,
      'an empty mailbox');
  }
  await stream.close();
  await client.send(pid, '', { topic: 'stop' });
  // A late send does not overtake those that wait for room.
  const narrow = client.sendStream({ maxUnacknowledged: 2 });
  const early = Array.from({ length: 6 }, () => narrow.send('@nobody'));
  const late = early[2].then(() => narrow.send('@nobody'));
  assert.deepEqual(await Promise.all([...early, late]), [0, 1, 2, 3, 4, 5, 6]);
  await caught(narrow.close());

  const items = (await client.awaitOutcome(pid)).json();
  assert.deepEqual(items.filter(({ topic }) => topic === 'n')
    .map(({ payload }) => Number(payload)), Array.from({ length: 400 }, (_, i) => i));
  await assert.rejects(stream.send(pid), /closed/);
});

test('refused items are returned or thrown', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('counter', '0');
  const stream = client.sendStream();
  const add = (to, payload, more) => stream.send(to, payload, { topic: 'add', ...more });
  await add(pid, '1');
  await add('@nobody', '2');
  await add(pid, '3', { messageId: 'twice' });
  await stream.flush();
  const [first] = stream.takeRefusals();
  assert.deepEqual([first.index, first.pid, first.payload.text, first.error.constructor],
    [1, '@nobody', '2', actord.NameNotFound]);
  await add(pid, '3', { messageId: 'twice' });
  await add('x.y', Buffer.from('4'));
  const refused = await caught(stream.close());
  assert.ok(refused instanceof actord.ItemsRefused);
  const [second] = refused.refusals;
  assert.deepEqual([second.index, second.error.reason, second.error.fields],
    [4, 'INVALID_PID', { pid: second.error.message }]);
  assert.equal((await client.call(pid, '', { topic: 'get' })).json(), 4);
});

test('send waits for room no longer than the timeout', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('counter', '0');
  await ask('pause');
  const stream = client.sendStream({ maxUnacknowledged: 3, timeoutMs: 300 });
  for (let i = 0; i < 3; ++i) await stream.send(pid, '1', { topic: 'add' });
  const late = await caught(stream.send(pid, '1', { topic: 'add' }));
  assert.ok(late instanceof actord.DeadlineExceeded);
  await ask('resume');
  await eventually(async () => (
    await client.call(pid, '', { topic: 'get' })).json() === 3, 'items');
  await stream.close();
  const cancelled = client.sendStream();
  await cancelled.send(pid, '1', { topic: 'add' });
  cancelled.cancel();
  assert.equal((await caught(cancelled.flush())).code, 'CANCELLED');
});

test('starts and ends are reported', async (t) => {
  const client = clientOf(t);
  const old = await client.submit('probe', '', { method: 'idle' });
  const watch = client.watch('probe', { timeoutMs: WAIT_MS });
  let { value: snapshot } = await watch.next();
  assert.ok(snapshot.first);
  assert.ok(snapshot.processes.some(({ pid }) => pid === old.pid));
  while (!snapshot.last) ({ value: snapshot } = await watch.next());
  const made = await client.submit('probe', 'x', { method: 'fail' });
  await client.submit('counter', '0'); // of another type
  const { value: started } = await watch.next();
  const { value: ended } = await watch.next();
  assert.deepEqual([started.kind, started.pid, started.method],
    ['started', made.pid, 'fail']);
  assert.deepEqual([ended.kind, ended.pid, ended.failure.message],
    ['ended', made.pid, 'x']);
  const { resumeToken } = watch;
  watch.close();
  await client.terminate(old);
  for await (const event of client.watch('probe', { resumeToken })) {
    assert.deepEqual([event.kind, event.pid, event.failure.reason],
      ['ended', old.pid, 'TERMINATED']);
    break;
  }
});

test('a watch ends at its timeout, when it is closed, or aborted', async (t) => {
  const client = clientOf(t);
  const quiet = (more) => client.watch('', { skipSnapshot: true, ...more });
  assert.deepEqual(await all(quiet({ timeoutMs: 200 })), []);
  const watch = quiet();
  setTimeout(() => watch.close(), 50);
  assert.deepEqual(await all(watch), []);
  const aborted = await caught(all(quiet({ signal: AbortSignal.timeout(50) })));
  assert.equal(aborted.name, 'TimeoutError');
  const error = await caught(all(client.watch('', { resumeToken: 'x' })));
  assert.equal(error.reason, 'INVALID_RESUME_TOKEN');
});
