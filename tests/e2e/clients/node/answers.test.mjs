// Worker: each task gets an answer, whatever its function throws and however large its
// result is.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { clientOf } from './harness.mjs';

const MIB = 1 << 20;

function workerOf(t, client, options = {}) {
  const warnings = [];
  const worker = new actord.Worker({
    client, onWarning: (text) => warnings.push(text), ...options,
  });
  t.after(() => worker.close());
  return Object.assign(worker, { warnings });
}

const yielding = (client, command) => (
  client.submit('probe', { command }, { method: 'yield' }));
const endOf = async (client, pid) => (await client.awaitOutcome(pid)).json();

// By command: what its function throws, and the code and the text that its process gets.
const ERRORS = {
  'manual.name': [() => new actord.Refuse('no such word', { code: 'not_found' }),
    'NOT_FOUND', /^no such word$/],
  'manual.number': [() => new actord.Refuse('x', { code: 5 }), 'NOT_FOUND', /^x$/],
  'manual.surrogate': [() => new Error('a\ud800b'), 'UNKNOWN', /Error: a\ufffdb$/],
  'manual.refused_surrogate': [() => new actord.Refuse('a\ud800b'),
    'FAILED_PRECONDITION', /^a\ufffdb$/],
  'manual.no_code': [() => Object.assign(new actord.Refuse('a'), { code: 'NO_SUCH' }),
    'INTERNAL', /cannot say how a Refuse has failed the task: TypeError: 'NO_SUCH' is not/],
  'manual.no_text': [() => Object.create(null), 'UNKNOWN', /a thrown object without a text/],
  'manual.symbol': [() => Symbol('s'), 'UNKNOWN', /Symbol\(s\)$/],
};

test('each error is an answer', async (t) => {
  const client = clientOf(t);
  // One place: a task that keeps it would block the others.
  const worker = workerOf(t, client, { concurrency: 1 })
    .command('manual.*', ({ command }) => { throw ERRORS[command][0](); });
  await worker.start();
  for (const [command, [, code, message]] of Object.entries(ERRORS)) {
    const end = await endOf(client, await yielding(client, command));
    assert.equal(end.code, code, `${command}: ${end.message}`);
    assert.match(end.message, message);
  }
  assert.ok(!worker.warnings.some((text) => text.includes('keeps trying')));
});

test('a result that is too large is an error', async (t) => {
  const client = clientOf(t);
  let release = () => {};
  const released = new Promise((resolve) => { release = resolve; });
  const worker = workerOf(t, client)
    .command('manual.slow', async () => {
      await released;
      return 'slow';
    })
    .command('manual.type', () => new actord.Payload('', 't'.repeat(8 * MIB)))
    .command('manual.progress', (task) => {
      try {
        task.reportProgress(Buffer.alloc(20 * MIB));
      } catch (error) {
        return `${error}`;
      }
      return 'sent';
    })
    .command('manual.*', ({ command }) => Buffer.alloc(Number(command.slice(8)), 'a'));
  await worker.start();
  const slow = await yielding(client, 'manual.slow');
  for (const size of [MIB + 1, 3 * MIB, 20 * MIB]) {
    assert.deepEqual(await endOf(client, await yielding(client, `manual.b${size}`)), {
      code: 'INVALID_ARGUMENT',
      message: `the worker's result: it has ${size} bytes; the limit is ${MIB}`,
    });
  }
  assert.match((await endOf(client, await yielding(client, 'manual.type'))).message,
    /its content type has 8388608 bytes; the limit is 1024/);
  assert.equal((await endOf(client, await yielding(client, 'manual.progress'))).payload,
    'TypeError: the progress of a task: it has 20971520 bytes; the limit is 4096');
  assert.equal(
    (await endOf(client, await yielding(client, `manual.b${MIB - 100}`))).code, 'OK');
  // Its stream was not broken.
  release();
  assert.equal((await endOf(client, slow)).payload, 'slow');
  assert.equal(worker.warnings.length, 4, worker.warnings);
  assert.match(worker.warnings[2], /is not sent: it has 20971520 bytes/);
});

test('the book replaces a refused error once, and holds large results back', async () => {
  const { TaskBook } = await import('./node_modules/actord/lib/tasks.js');
  const warnings = [];
  const warn = (text) => warnings.push(text);
  const book = new TaskBook([{ pattern: 'manual.*', function: () => {} }], '', 2);
  book.open();
  book.subscribed({ maxPayloadBytes: 8 * MIB }, warn);
  const taskOf = (token) => book.start({
    token, command: 'manual.a', payload: null, lease: { seconds: 1, nanos: 0 },
  }, 0, () => {});
  const refusal = { code: 3, message: 'error.code is wrong', reason: '' };
  for (const [kind, name, request] of [
    ['KIND_COMPLETION', 'completions', { completions: [{ token: 'e', error: {} }] }],
    ['KIND_FAILURE', 'failures', { failures: [{ token: 'e' }] }],
  ]) {
    book.answer(taskOf('e'), request, warn);
    const answer = { token: 'e', kind, answer: 'ANSWER_UNSPECIFIED', refusal };
    const [again] = book.answered(answer, 0, warn);
    assert.equal(again[name][0].error.code, 13);
    assert.match(again[name][0].error.message,
      /^the worker's (error|failure): error.code is wrong$/);
    assert.deepEqual(book.answered(answer, 0, warn), [{ addCredits: 1 }]);
  }
  const large = { completions: [
    { token: 'l', result: { data: Buffer.alloc(5 * MIB), contentType: '' } }] };
  assert.deepEqual(book.answer(taskOf('l'), large, warn), [large]);
  assert.equal(book.open().length, 1);
  const [replaced] = book.subscribed({ maxPayloadBytes: MIB }, warn);
  assert.equal(replaced.completions[0].error.message,
    "the worker's result: it has 5242880 bytes; the limit is 1048576");
});

test('codes of Refuse', () => {
  for (const [given, code] of [['ABORTED', 'ABORTED'], ['aborted', 'ABORTED'],
    [16, 'UNAUTHENTICATED'], [undefined, 'FAILED_PRECONDITION']]) {
    assert.equal(new actord.Refuse('x', { code: given }).code, code);
  }
  for (const code of ['OK', 0, 17, 'B', '5', null, true, 2.5]) {
    assert.throws(() => new actord.Refuse('x', { code }), {
      name: 'TypeError',
      message: /is not the code of an error: give its name or its number: CANCELLED, UNKN/,
    });
  }
  const refused = (options, message) => assert.throws(
    () => new actord.Refuse('x', options), { name: 'TypeError', message });
  refused('NOT_FOUND', "the options of Refuse must be an object, not 'NOT_FOUND'; did you "
    + "mean { code: 'NOT_FOUND' }?");
  refused(5, 'the options of Refuse must be an object, not 5; did you mean { code: 5 }?');
  refused({ status: 5 }, 'Refuse takes no option "status"; it takes code');
  assert.throws(() => new actord.Refuse({ code: 5 }),
    { name: 'TypeError', message: 'the message of a Refuse is a string, not an object' });
});

test('delays of Retry', () => {
  for (const delayMs of [undefined, 0, 1.5]) {
    assert.equal(new actord.Retry({ delayMs }).delayMs, delayMs);
  }
  const refused = (options, message) => assert.throws(
    () => new actord.Retry(options), { name: 'TypeError', message });
  refused({ delay: 1 }, 'Retry takes no option "delay"; did you mean delayMs?');
  refused(1000, 'the options of Retry must be an object, not 1000; did you mean '
    + '{ delayMs: 1000 }?');
  refused('later', "the options of Retry must be an object, not 'later'; did you mean "
    + "{ message: 'later' }?");
  for (const [delayMs, shown] of [[-1, '-1'], ['1', "'1'"], [NaN, 'NaN'], [null, 'null']]) {
    refused({ delayMs },
      `the delayMs of a Retry is a number of at least 0 ms, not ${shown}`);
  }
});
