// Client: requests that are too large, and timeouts that are too short.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { caught, clientOf, eventually } from './harness.mjs';

const MIB = 1 << 20;
// Above the largest request, 6 MiB, and below twice its size: of more the guard of the
// daemon may cut the connection first.
const LARGE = Buffer.alloc(10 * MIB);

function assertTooLarge(error) {
  assert.equal(error.constructor, actord.PayloadTooLarge, error);
  assert.deepEqual([error.reason, error.code, error.retryDelayMs],
    ['PAYLOAD_TOO_LARGE', 'INVALID_ARGUMENT', null]);
  assert.match(error.message, new RegExp('^the request has 104\\d{5} bytes; the daemon '
    + 'takes at most limits\\.max_payload_bytes \\(1 MiB unless configured\\) in a payload, '
    + 'and 6291456 bytes in a request$'));
}

test('a request that is too large', async (t) => {
  const client = clientOf(t);
  assertTooLarge(await caught(client.submit('echo', LARGE)));
  assertTooLarge(await caught(client.call('@a', LARGE)));
  assertTooLarge(await caught(client.completeYield('token', LARGE)));
});

test('an item of a stream that is too large fails alone', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('counter', '0');
  const member = await client.submit('probe', 'g', { method: 'collect' });
  await eventually(async () => {
    try {
      return (await client.send('#g', 'x')).delivered === 1;
    } catch (error) {
      if (error instanceof actord.NotFound) return false;
      throw error;
    }
  }, 'the member');
  const stream = client.sendStream();
  for (const [target, payload] of [[pid, '1'], [pid, LARGE], [pid, '10'],
    [pid, Buffer.alloc(5 * MIB)], ['#g', LARGE], ['#g', 'y']]) {
    await stream.send(target, payload, { topic: 'add' });
  }
  const { refusals } = await caught(stream.close());
  assert.equal(stream.acknowledged, 6);
  assert.deepEqual(refusals.map(({ index, payload }) => [index, payload.data.length]),
    [[1, 10 * MIB], [3, 5 * MIB], [4, 10 * MIB]]);
  assertTooLarge(refusals[0].error);
  assert.match(refusals[1].error.message, /the limit is 1048576/);
  assertTooLarge(refusals[2].error);
  assert.equal((await client.call(pid, '', { topic: 'get' })).json(), 11);
  await client.send(member, '', { topic: 'stop' });
  const got = (await client.awaitOutcome(member)).json();
  assert.equal(got.filter(({ payload }) => payload === 'y').length, 1);
});

test('a large item is sent alone until one has been taken', async () => {
  const { SendBook } = await import('./node_modules/actord/lib/send_book.js');
  const book = new SendBook(10);
  const safe = 4 * MIB;
  for (const size of [1, safe, 2, safe, 3]) {
    book.add({
      pid: 'p', topic: '', messageId: 'm',
      payload: { data: Buffer.alloc(size), contentType: '' },
    });
  }
  const sizes = () => book.nextBatch().sends.map(({ payload }) => payload.data.length);
  const acknowledge = (ackedCount) => book.received({ refusals: [], ackedCount });
  assert.deepEqual(sizes(), [1]);
  assert.equal(book.canSend, false);
  acknowledge(1);
  assert.deepEqual(sizes(), [safe]);
  assert.equal(book.canSend, false);
  acknowledge(2);
  assert.deepEqual([sizes(), sizes(), sizes()], [[2], [safe], [3]]);
  // The next daemon may have another limit.
  assert.ok(book.canContinue(new actord.Unavailable('lost', { code: 'UNAVAILABLE' })));
  book.reopen();
  assert.deepEqual([book.acknowledged, sizes(), book.canSend], [2, [2], false]);
});

test('the error of a timeout names the process', async (t) => {
  const client = clientOf(t);
  await client.submit('probe', '', { method: 'idle', name: 'zed' });
  const late = await caught(client.awaitOutcome('@zed', { timeoutMs: 200 }));
  assert.ok(late instanceof actord.DeadlineExceeded);
  assert.equal(late.message, 'process @zed has not ended within the timeout');
  assert.equal((await caught(client.call('@zed', '', { timeoutMs: 200 }))).message,
    'process @zed has not answered within the timeout; the call may have had its effect');
});

test('the code of a completion is that of an error', async (t) => {
  const client = clientOf(t);
  for (const code of ['OK', 'NO_SUCH', 0]) {
    assert.match((await caught(
      client.completeYield('token', undefined, { error: 'no', code }))).message,
    /is not the code of an error/);
  }
});
