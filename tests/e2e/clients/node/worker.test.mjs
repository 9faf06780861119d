// Worker: results, failures, leases, and its end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import * as actord from 'actord';
import { all, caught, clientOf, eventually, sleep, WAIT_MS } from './harness.mjs';

const PROGRAM = `
import { Worker } from 'actord';
const [ms, name] = process.argv.slice(1);
const worker = new Worker({ name: 'program' });
worker.command('manual.*', async (task) => {
  console.log('begin', task.attempt, task.idempotencyKey);
  await new Promise((resolve) => setTimeout(resolve, Number(ms)));
  console.log('end');
  return 'by ' + name;
}, { attempts: 5 });
await worker.run();
console.log('left in order');
`;

function workerOf(t, client, options = {}) {
  const warnings = [];
  const worker = new actord.Worker({
    client, onWarning: (text) => warnings.push(text), ...options,
  });
  t.after(() => worker.close());
  return Object.assign(worker, { warnings });
}

function program(t, ms, name) {
  const child = spawn(process.execPath,
    ['--input-type=module', '-e', PROGRAM, String(ms), name],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  child.exited = once(child, 'exit');
  child.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return child;
}

const yielding = (client, command = 'manual.do', order = {}) => (
  client.submit('probe', { ...order, command }, { method: 'yield' }));
const endOf = async (client, pid) => (await client.awaitOutcome(pid)).json();

test('results reach their processes', async (t) => {
  const client = clientOf(t);
  const tasks = [];
  const results = {
    'manual.text': 't', 'manual.json': { a: 1 }, 'manual.none': undefined,
    'manual.bytes': Buffer.from('b'), 'manual.exact': 'exact',
    'manual.payload': new actord.Payload('<a/>', 'text/xml'),
  };
  const worker = workerOf(t, client, { name: 'w' })
    .command('manual.*', (task) => {
      tasks.push(task);
      return results[task.command];
    })
    .command('manual.exact', () => 'of the exact name');
  const pids = {};
  for (const command of Object.keys(results)) {
    pids[command] = await yielding(client, command, { payload: 'p' });
  }
  await worker.start();
  const texts = {};
  for (const [command, pid] of Object.entries(pids)) {
    texts[command] = (await endOf(client, pid)).payload;
  }
  assert.deepEqual(texts, {
    'manual.text': 't', 'manual.json': '{"a":1}', 'manual.none': '',
    'manual.bytes': 'b', 'manual.exact': 'of the exact name', 'manual.payload': '<a/>',
  });
  const task = tasks.find(({ command }) => command === 'manual.text');
  assert.deepEqual(
    [task.text, task.pid, task.processType, task.attempt, task.maxAttempts,
      task.leaseMs, task.progress, task.cancelled],
    ['p', pids['manual.text'].pid, 'probe', 1, 3, 2000, null, false]);
  worker.stop();
  await worker.join();
});

test('errors are final or retried', async (t) => {
  const client = clientOf(t);
  const attempts = [];
  const broken = () => { throw new RangeError('broken'); };
  const worker = workerOf(t, client)
    .command('manual.refuse', () => {
      throw new actord.Refuse('no', { code: 'OUT_OF_RANGE' });
    })
    .command('manual.retry', async ({ attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new actord.Retry({ delayMs: 10, message: 'later' });
      return 'third';
    })
    .command('manual.fail', broken)
    .command('manual.once', broken, { attempts: 1 })
    .command('manual.large', () => Buffer.alloc(3 << 20))
    .command('manual.no_data', () => 1n)
    .command('manual.no_code', () => { throw new actord.Refuse('a', { code: 'B' }); });
  await worker.start();
  const ends = {};
  for (const name of ['refuse', 'retry', 'fail', 'once', 'large', 'no_data',
    'no_code']) {
    ends[name] = await endOf(client, await yielding(client, `manual.${name}`));
  }
  assert.deepEqual(ends.refuse, { code: 'OUT_OF_RANGE', message: 'no' });
  assert.deepEqual(ends.retry, { code: 'OK', payload: 'third' });
  assert.deepEqual(attempts, [1, 2, 3]);
  assert.match(ends.fail.message, /after 3 attempts: RangeError: broken/);
  const failed = worker.warnings.filter((text) => text.startsWith('manual.fail,'));
  assert.equal(failed.length, 3);
  assert.match(failed[0], /has failed: RangeError: broken\n +at /);
  assert.ok(!worker.warnings.some((text) => /^manual\.(refuse|retry),/.test(text)));
  assert.match(ends.once.message, /after 1 attempts: RangeError: broken/);
  assert.equal(ends.large.code, 'INVALID_ARGUMENT');
  assert.match(ends.no_data.message, /TypeError/);
  assert.match(ends.no_code.message, /TypeError: 'B' is not the code of an error/);
});

test('leases are renewed and progress is kept', async (t) => {
  const client = clientOf(t);
  const worker = workerOf(t, client)
    .command('manual.long', async (task) => {
      await sleep(5000); // more than two leases
      return `${task.attempt} ${task.cancelled}`;
    })
    .command('manual.failing', (task) => {
      if (task.attempt > 1) return task.progress.text;
      task.reportProgress('half');
      throw new actord.Retry({ delayMs: 0 });
    });
  await worker.start();
  const long = await yielding(client, 'manual.long');
  const failing = await yielding(client, 'manual.failing');
  assert.equal((await endOf(client, failing)).payload, 'half');
  assert.equal((await endOf(client, long)).payload, '1 false');
  assert.deepEqual(worker.warnings, []);
});

test('a task that is taken back is aborted, and its place is free', async (t) => {
  const client = clientOf(t);
  const aborted = [];
  const worker = workerOf(t, client, { concurrency: 1 })
    .command('manual.next', () => 'next')
    .command('manual.do', async (task) => {
      await once(task.signal, 'abort');
      aborted.push([task.cancelled, task.cancelReason]);
      task.signal.throwIfAborted();
    });
  const pid = await yielding(client);
  await worker.start();
  await eventually(async () => (await all(client.yields('', { pid })))[0]?.attempts,
    'the task');
  await client.terminate(pid);
  for (let i = 0; i < 3; ++i) {
    assert.equal((await endOf(client, await yielding(client, 'manual.next'))).payload,
      'next');
  }
  assert.deepEqual(aborted, [[true, 'YIELD_ENDED']]);
});

test('no more tasks at a time than concurrency', async (t) => {
  const client = clientOf(t);
  let [now, most] = [0, 0];
  const worker = workerOf(t, client, { concurrency: 3 })
    .command('manual.*', async () => {
      most = Math.max(most, ++now);
      await sleep(10);
      --now;
    });
  const pids = [];
  for (let i = 0; i < 20; ++i) pids.push(await yielding(client));
  await worker.start();
  for (const pid of pids) assert.equal((await endOf(client, pid)).code, 'OK');
  assert.equal(most, 3);
});

test('a refused worker says so', async (t) => {
  const client = clientOf(t);
  const refused = await caught(workerOf(t, client).command('no.such', () => {}).start());
  assert.ok(refused instanceof actord.InvalidArgument);
  assert.equal(refused.reason, 'INVALID_FIELD');
  await assert.rejects(workerOf(t, client).start(), /has no commands/);
  assert.throws(() => workerOf(t, client, { concurrency: 0 }), /concurrency/);
  const late = clientOf(t, { address: '127.0.0.1:1' });
  const error = await caught(workerOf(t, late).command('a', () => {})
    .start({ timeoutMs: 100 }));
  assert.equal(error.code, 'DEADLINE_EXCEEDED');
});

test('SIGTERM finishes the tasks under way', async (t) => {
  const client = clientOf(t);
  const first = program(t, 700, 'first');
  const pids = [];
  for (let i = 0; i < 6; ++i) pids.push(await yielding(client));
  for (let i = 0; i < 4; ++i) {
    assert.match((await first.lines.next()).value, /^begin 1 /);
  }
  first.kill('SIGTERM');
  assert.deepEqual(await all(first.lines), [...Array(4).fill('end'), 'left in order']);
  assert.deepEqual(await first.exited, [0, null]);
  const second = workerOf(t, client)
    .command('manual.*', ({ attempt }) => `by second ${attempt}`);
  await second.start();
  const texts = [];
  for (const pid of pids) texts.push((await endOf(client, pid)).payload);
  assert.deepEqual(texts.sort(),
    [...Array(4).fill('by first'), ...Array(2).fill('by second 1')]);
});

test('another worker gets the task of a killed one', async (t) => {
  const client = clientOf(t);
  const killed = program(t, WAIT_MS, 'killed');
  const pid = await yielding(client);
  const [, attempt, key] = (await killed.lines.next()).value.split(' ');
  assert.equal(attempt, '1');
  killed.kill('SIGKILL');
  const again = program(t, 0, 'again');
  assert.equal((await again.lines.next()).value, `begin 2 ${key}`);
  assert.equal((await endOf(client, pid)).payload, 'by again');
});
