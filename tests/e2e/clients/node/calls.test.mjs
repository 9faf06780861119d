// The methods of Client, each kind of error, and repeated attempts.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { all, caught, clientOf, eventually, loseFirstAnswer, sleep }
  from './harness.mjs';

async function fails(promise, kind, code, reason) {
  const error = await caught(promise);
  assert.equal(error.constructor, kind, String(error));
  assert.equal(error.name, kind.name);
  assert.deepEqual([error.code, error.reason], [code, reason]);
  return error;
}

test('processes are started, driven and awaited', async (t) => {
  const client = clientOf(t);
  const counter = await client.submit('counter', '40', { name: 'count' });
  assert.deepEqual({ ...counter }, {
    pid: `${counter}`, duplicate: false, delivered: false, durability: 'VOLATILE',
    receipt: 'MEMORY',
  });
  assert.deepEqual(await client.send(counter, 5, { topic: 'add' }),
    { duplicate: false, receipt: 'MEMORY', delivered: 0, refused: 0 });
  await client.send('@count', Buffer.from('-3'), { topic: 'add' });
  const reply = await client.call(counter, undefined, { topic: 'get' });
  assert.deepEqual([reply.json(), reply.pid], [42, counter.pid]);
  // The answer is there before its step has returned.
  await eventually(async () => (await client.describe(counter)).state === 'IDLE',
    'rest');
  const process = await client.describe('@count');
  assert.deepEqual(
    [process.pid, process.processType, process.names, process.plugin,
      process.durability, process.createTime instanceof Date],
    [counter.pid, 'counter', ['count'], 'counter', 'VOLATILE', true]);
  await client.send(counter, undefined, { topic: 'stop' });
  const outcome = await client.awaitOutcome(counter);
  assert.deepEqual([outcome.pid, outcome.text, outcome.failure],
    [counter.pid, '42', null]);
  assert.ok(outcome.createTime <= outcome.endTime && outcome.steps > 0);
});

test('a message to a group goes to its members', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('probe', 'node', { method: 'collect' });
  await eventually(async () => {
    try {
      return (await client.send('#node', 'x')).delivered === 1;
    } catch (error) {
      if (error.reason === 'NAME_NOT_FOUND') return false;
      throw error;
    }
  }, 'the member');
  const stream = client.sendStream();
  await stream.send('#node', 'y');
  await stream.close();
  await client.send(pid, undefined, { topic: 'stop' });
  const items = (await client.awaitOutcome(pid)).json();
  assert.deepEqual(items.slice(-2).map((item) => item.payload), ['x', 'y']);
});

test('labels select live and ended processes', async (t) => {
  const client = clientOf(t);
  const batch = `b${Date.now()}`; // other tests use the same daemon
  const labels = { batch, tenant: 'acme', urgent: '' };
  const acme = await client.submit('counter', '1', { durability: 'VOLATILE', labels });
  await client.submit('counter', '1', {
    durability: 'VOLATILE', labels: { batch, tenant: 'other' },
  });
  assert.equal((await all(client.ps('', { labels: { batch, tenant: null } }))).length, 2);
  const filter = { batch, tenant: 'acme', urgent: null };
  const [process] = await all(client.ps('counter', { labels: filter }));
  assert.deepEqual([process.pid, process.labels, process.end, process.endTime],
    [acme.pid, labels, 'UNSPECIFIED', null]);
  const watch = client.watch('', { labels: filter });
  const { value: snapshot } = await watch.next();
  assert.deepEqual(snapshot.processes.map((one) => one.pid), [acme.pid]);
  await client.terminate(acme, 'enough');
  let event;
  do event = (await watch.next()).value; while (event.kind !== 'ended');
  assert.deepEqual([event.pid, event.labels], [acme.pid, labels]);
  watch.close();
  await client.run('echo', '1', { labels: { batch } });
  assert.deepEqual(
    (await all(client.ended('', { labels: { batch }, pageSize: 1 })))
      .map((one) => one.processType), ['echo', 'counter']);
  const [ended] = await all(client.ended('counter', { end: 'TERMINATED', labels: filter }));
  assert.deepEqual(
    [ended.pid, ended.state, ended.end, ended.endCode, ended.endMessage,
      ended.createTime <= ended.endTime],
    [acme.pid, 'ENDED', 'TERMINATED', 'ABORTED', 'enough', true]);
  await fails(client.submit('counter', '1', { labels: { Tenant: 'acme' } }),
    actord.InvalidArgument, 'INVALID_ARGUMENT', 'INVALID_FIELD');
});

test('payloads say truly what they are', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('probe', undefined, { method: 'collect' });
  const given = ['text', Buffer.from('\0'), null, { ä: [1] }, 7,
    actord.Payload.json('text'), new actord.Payload('<a/>', 'text/xml')];
  for (const payload of given) await client.send(pid, payload);
  await client.send(pid, 'a,b', { contentType: 'text/csv' });
  await client.send(pid, undefined, { topic: 'stop' });
  const items = (await client.awaitOutcome(pid)).json();
  assert.deepEqual(items.slice(0, 8).map((item) => [item.payload, item.content_type]), [
    ['text', 'text/plain'], ['\0', 'application/octet-stream'],
    ['null', 'application/json'], ['{"ä":[1]}', 'application/json'],
    ['7', 'application/json'], ['"text"', 'application/json'],
    ['<a/>', 'text/xml'], ['a,b', 'text/csv']]);
  for (const mistake of [NaN, { a: [Infinity] }, 1n, () => {}, Symbol('a')]) {
    assert.throws(() => actord.Payload.of(mistake), TypeError);
  }
  assert.throws(() => new actord.Payload(Buffer.from([0xff])).text, TypeError);
});

test('options that a method does not take are refused', async (t) => {
  const client = clientOf(t);
  const refused = async (make, text) => {
    const error = await caught((async () => { await make(); })());
    assert.ok(error instanceof TypeError, String(error));
    assert.equal(error.message, text);
  };
  await refused(() => client.send('@bulk', 5, { timeout: 5 }),
    'send takes no option "timeout"; did you mean timeoutMs?');
  await refused(() => client.send('@bulk', 5, 'add'),
    "the options of send must be an object, not 'add'");
  await refused(() => client.call('@bulk', 5, null),
    'the options of call must be an object, not null');
  await refused(() => client.run('echo', 'x', { timeout_ms: 5 }),
    'run takes no option "timeout_ms"; did you mean timeoutMs?');
  await refused(() => client.submit('echo', 'x', { piority: 5 }),
    'submit takes no option "piority"; did you mean priority?');
  await refused(() => client.describe('@a', { topic: 'x' }),
    'describe takes no option "topic"; it takes timeoutMs, signal');
  await refused(() => client.ps('echo', { stat: 'IDLE' }),
    'ps takes no option "stat"; did you mean state?');
  await refused(() => client.watch('echo', { resumetoken: '' }),
    'watch takes no option "resumetoken"; did you mean resumeToken?');
  await refused(() => client.sendStream().send('@a', 1, { tpoic: 'x' }),
    'SendStream.send takes no option "tpoic"; did you mean topic?');
  await refused(() => new actord.Client({ adress: '127.0.0.1:1' }),
    'Client takes no option "adress"; did you mean address?');
  await refused(() => new actord.Worker(client),
    'Worker takes no option "address"; it takes client, name, concurrency, '
    + 'stopTimeoutMs, onWarning');
});

test('run submits and awaits', async (t) => {
  const client = clientOf(t);
  assert.deepEqual((await client.run('echo', [1])).json(), [1]);
  const failed = await caught(client.run('probe', 'broken', { method: 'fail' }));
  assert.ok(failed instanceof actord.ProcessFailed);
  assert.deepEqual([failed.reason, failed.message, failed.code],
    ['FAILED', 'broken', failed.failure.code]);
  assert.equal(failed.pid, failed.outcome.pid);
  const outcome = await client.run('probe', '', { method: 'throw', check: false });
  assert.equal(outcome.failure.reason, 'EXCEPTION');
  assert.throws(() => outcome.text, /without a result/);
  // The daemon says so shortly before gRPC would, unless the machine is busy.
  const late = await caught(client.run('probe', '', { method: 'idle', timeoutMs: 2000 }));
  assert.ok(late instanceof actord.DeadlineExceeded, late);
  assert.equal((await client.describe(late.pid)).method, 'idle');
  assert.ok(late.message.includes(`goes on, and awaitOutcome('${late.pid}')`), late);
});

test('calls are aborted, also in the pause before another attempt', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('probe', '', { method: 'idle' });
  const controller = new AbortController();
  const waiting = caught(client.awaitOutcome(pid, { signal: controller.signal }));
  await sleep(50);
  controller.abort(new Error('enough'));
  assert.equal((await waiting).message, 'enough');
  assert.equal(
    (await caught(client.describe(pid, { signal: controller.signal }))).message,
    'enough');
  const none = clientOf(t, { address: '127.0.0.1:1' });
  const begin = Date.now();
  const error = await caught(none.submit('echo', 'a', {
    signal: AbortSignal.timeout(100),
  }));
  assert.equal(error.name, 'TimeoutError');
  assert.ok(Date.now() - begin < 3000);
});

test('processes are cancelled and terminated', async (t) => {
  const client = clientOf(t);
  const idle = () => client.submit('probe', '', { method: 'idle' });
  const [first, second] = [await idle(), await idle()];
  assert.equal(await client.cancel(first, 'not needed'), 'MEMORY');
  assert.equal((await caught(client.awaitOutcome(first))).reason, 'CANCELLED');
  await client.terminate(second, 'now');
  const end = await caught(client.awaitOutcome(second));
  assert.deepEqual([end.reason, end.message], ['TERMINATED', 'now']);
  const stubborn = await client.submit('probe.cancel', '', { method: 'stubborn' });
  await client.cancel(stubborn, '', { deadlineMs: 50 });
  assert.equal((await caught(client.awaitOutcome(stubborn))).reason, 'TERMINATED');
});

test('lists come page by page', async (t) => {
  const client = clientOf(t);
  const { pid: parentPid } = await client.submit('counter', '0');
  const before = await all(client.ps('probe'));
  const pids = [];
  for (let i = 0; i < 7; ++i) {
    pids.push((await client.submit('probe', '', { method: 'idle' })).pid);
  }
  const known = new Set(before.map(({ pid }) => pid));
  const listed = (await all(client.ps('probe', { pageSize: 2 })))
    .map(({ pid }) => pid).filter((pid) => !known.has(pid));
  assert.deepEqual(listed.sort(), pids.sort());
  assert.deepEqual(await all(client.ps('', { parentPid })), []);
  await eventually(async () => (await all(client.ps('counter', { state: 'IDLE' })))
    .some(({ pid }) => pid === parentPid), 'the idle counter');
  assert.throws(() => client.ps('', { state: 'LAZY' }), /'LAZY' is none of/);
});

test('yields are listed and completed', async (t) => {
  const client = clientOf(t);
  const pids = [];
  for (let i = 0; i < 2; ++i) {
    pids.push(await client.submit('probe', { command: 'manual.do', payload: 'p' },
      { method: 'yield' }));
  }
  await eventually(async () => (await all(client.yields('manual.*'))).length === 2,
    'yields');
  const waiting = await all(client.yields('manual.*', { pageSize: 1 }));
  const [first, second] = pids.map(({ pid }) => (
    waiting.find((item) => item.pid === pid)));
  assert.deepEqual([first.command, first.payload.text, first.processType],
    ['manual.do', 'p', 'probe']);
  assert.deepEqual(await client.completeYield(first.token, 'done'),
    { answer: 'ACCEPTED', receipt: 'MEMORY' });
  assert.equal((await client.completeYield(first.token, 'done')).answer, 'DUPLICATE');
  assert.equal((await client.completeYield(first.token, 'other')).answer, 'CONFLICT');
  assert.deepEqual((await all(client.yields('', { pid: pids[1] }))).map(
    ({ token }) => token), [second.token]);
  await client.completeYield(second.token, undefined, { error: 'no', code: 'ABORTED' });
  assert.deepEqual((await client.awaitOutcome(pids[1])).json(),
    { code: 'ABORTED', message: 'no' });
  await assert.rejects(client.completeYield(second.token, 'a', { error: 'b' }),
    TypeError);
});

test('other calls are invoked', async (t) => {
  const client = clientOf(t);
  const status = await client.invoke('GetStatus');
  assert.ok(status.processTypes.some(({ name }) => name === 'counter'));
  const error = await fails(client.invoke('ListYields', { pageSize: -1 }),
    actord.InvalidArgument, 'INVALID_ARGUMENT', 'INVALID_FIELD');
  assert.deepEqual(error.fields, { page_size: error.message });
  for (const name of ['NoSuchCall', 'Work', 'toString']) {
    await assert.rejects(client.invoke(name), /has no unary call/);
  }
});

test('each reason has its class', async (t) => {
  const client = clientOf(t);
  const ended = await client.submit('probe', '', { method: 'idle' });
  await client.terminate(ended);
  await client.awaitOutcome(ended, { check: false });
  const holder = await client.submit('probe', '', { method: 'answer', name: 'taken' });
  await fails(client.describe('1.1.1.1'), actord.ProcessNotFound, 'NOT_FOUND',
    'PROCESS_NOT_FOUND');
  await fails(client.send('@nobody'), actord.NameNotFound, 'NOT_FOUND',
    'NAME_NOT_FOUND');
  await fails(client.submit('nothing'), actord.UnknownProcessType, 'NOT_FOUND',
    'UNKNOWN_PROCESS_TYPE');
  await fails(client.submit('probe', '', { method: 'nothing' }), actord.UnknownMethod,
    'NOT_FOUND', 'UNKNOWN_METHOD');
  await fails(client.send(ended), actord.ProcessEnded, 'FAILED_PRECONDITION',
    'PROCESS_ENDED');
  await fails(client.submit('counter', '1', { durability: 'DURABLE' }),
    actord.NotDurable, 'FAILED_PRECONDITION', 'DURABILITY_OFF');
  await fails(client.submit('echo', Buffer.alloc(3 << 20)), actord.PayloadTooLarge,
    'INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE');
  const refused = await fails(client.submit('probe', 'why not', { method: 'refuse' }),
    actord.InitRefused, 'INVALID_ARGUMENT', 'INIT_REFUSED');
  assert.deepEqual(refused.fields, { input: refused.message });
  assert.equal(`${refused}`, `INIT_REFUSED: ${refused.message}`);
  assert.ok(refused instanceof actord.InvalidArgument);
  const taken = await fails(client.submit('counter', '1', { name: 'taken' }),
    actord.NameTaken, 'ALREADY_EXISTS', 'NAME_TAKEN');
  assert.deepEqual([taken.pid, taken.metadata], [holder.pid, { pid: holder.pid }]);
  const failed = await fails(client.call(holder, 'no', { topic: 'error' }),
    actord.CallFailed, 'OUT_OF_RANGE', 'CALL_FAILED');
  assert.equal(failed.retryDelayMs, null);
  // The process has had the call, so the code does not matter.
  await eventually(async () => (await client.describe(holder)).state === 'IDLE', 'rest');
  const before = (await client.describe(holder)).steps;
  await fails(client.call(holder, '', { topic: 'busy' }), actord.CallFailed,
    'UNAVAILABLE', 'CALL_FAILED');
  await eventually(async () => (await client.describe(holder)).steps === before + 1,
    'one step');
  await fails(client.call(holder, '', { topic: 'end' }), actord.CalleeEnded, 'ABORTED',
    'CALLEE_ENDED');
});

test('ids make repeated calls safe', async (t) => {
  const client = clientOf(t);
  const first = await client.submit('counter', '1', { requestId: 'r' });
  const again = await client.submit('counter', '1', { requestId: 'r' });
  assert.deepEqual([again.pid, again.duplicate], [first.pid, true]);
  await fails(client.submit('counter', '2', { requestId: 'r' }),
    actord.RequestIdReused, 'INVALID_ARGUMENT', 'REQUEST_ID_REUSED');
  await client.send(first, '2', { topic: 'add', messageId: 'm' });
  assert.ok((await client.send(first, '2', { topic: 'add', messageId: 'm' })).duplicate);
  assert.equal((await client.call(first, '', { topic: 'get' })).json(), 3);
  const holder = await client.submit('counter', '1', { name: 'n' });
  const delivered = await client.submit('counter', '1', {
    name: 'n', onNameConflict: 'DELIVER', messages: [{ topic: 'add', payload: '5' }],
  });
  assert.deepEqual([delivered.pid, delivered.delivered], [holder.pid, true]);
  assert.equal((await client.call('@n', '', { topic: 'get' })).json(), 6);
});

test('a lost answer is asked for again, if that is safe', async (t) => {
  const client = clientOf(t);
  const pid = await client.submit('counter', '0');
  loseFirstAnswer(client, 'Submit');
  assert.ok((await client.submit('counter', '0')).duplicate);
  loseFirstAnswer(client, 'Send');
  assert.ok((await client.send(pid, '1', { topic: 'add' })).duplicate);
  for (const [method, call] of [
    ['Send', () => client.send(pid, '1', { topic: 'add', messageId: '' })],
    ['Submit', () => client.submit('counter', '0', { requestId: '' })],
    ['Call', () => client.call(pid, '', { topic: 'get' })]]) {
    loseFirstAnswer(client, method);
    await fails(call(), actord.Unavailable, 'UNAVAILABLE', '');
  }
  assert.equal((await client.call(pid, '', { topic: 'get' })).json(), 2);
});

test('overload is retried within the timeout', async (t) => {
  const client = clientOf(t);
  // Takes no messages until it has held its goods for so long.
  const pid = await client.submit('order', {
    order: 'A', amount_cents: 1, hold_ms: 600_000,
  });
  for (let i = 0; i < 50; ++i) await client.send(pid);
  const once = clientOf(t, { maxAttempts: 1 });
  const full = await fails(once.send(pid), actord.MailboxFull, 'RESOURCE_EXHAUSTED',
    'MAILBOX_FULL');
  assert.ok(full instanceof actord.Overloaded && full.retryDelayMs > 0);
  await fails(client.send(pid, '', { timeoutMs: 2000 }), actord.MailboxFull,
    'RESOURCE_EXHAUSTED', 'MAILBOX_FULL');
  setTimeout(() => client.terminate(pid), 200);
  await fails(client.send(pid), actord.ProcessEnded, 'FAILED_PRECONDITION',
    'PROCESS_ENDED');
});
