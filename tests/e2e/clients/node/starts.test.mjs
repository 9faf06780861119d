// run in one call, and calls that start their process.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { caught, clientOf } from './harness.mjs';

test('run is one call, and two with an older daemon', async (t) => {
  const client = clientOf(t);
  const used = (name) => () => { throw new Error(`${name} is called`); };
  const { Submit, Run } = client.stub;
  client.stub.Submit = used('Submit');
  assert.equal((await client.run('echo', 'a')).text, 'a');
  client.stub.Submit = Submit;
  client.stub.Run = used('Run');
  assert.equal((await client.run('echo', 'b', { requestId: '' })).text, 'b');
  client.stub.Run = (request, ...rest) => client.stub.makeUnaryRequest(
    '/actord.v1.ActorService/NoSuchMethod', () => Buffer.alloc(0), (bytes) => bytes,
    request, ...rest);
  assert.equal((await client.run('echo', 'c')).text, 'c');
  client.stub.Run = used('Run');
  assert.equal((await client.run('echo', 'd')).text, 'd');
  client.stub.Run = Run;
});

test('call starts the holder of the name', async (t) => {
  const client = clientOf(t);
  const start = { processType: 'counter', input: '40', labels: { tenant: 'node' } };
  const first = await client.call('@node/visits', '2', { topic: 'add', start });
  assert.deepEqual([first.json(), first.started], [42, true]);
  const second = await client.call('@node/visits', '1',
    { topic: 'add', start: 'counter' });
  assert.deepEqual([second.json(), second.started, second.pid],
    [43, false, first.pid]);
  const error = await caught(client.call(first.pid, '', { start }));
  assert.deepEqual(Object.keys(error.fields), ['pid']);
  await assert.rejects(client.call('@x', '', { start: { processtype: 'counter' } }),
    /start takes no option "processtype"; did you mean processType\?/);
  await client.terminate('@node/visits');
});
