// TLS and tokens, by options and by the environment. node_test.py gives the files.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { caught, clientOf } from './harness.mjs';

const { files, token, address, secretFile, openFile } = JSON.parse(
  process.env.SECURED);

test('the environment', async (t) => {
  assert.equal((await clientOf(t).run('echo', 'b')).text, 'b');
});

test('options', async (t) => {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('ACTORD_')) delete process.env[name];
  }
  const client = clientOf(t, { address, token, ...files });
  assert.equal((await client.run('echo', 'a')).text, 'a');
  const denied = await caught(client.submit('counter', '1'));
  assert.ok(denied instanceof actord.PermissionDenied);
  assert.equal(denied.reason, 'NAME_NOT_ALLOWED');
  const stream = client.sendStream();
  await stream.flush();
  await stream.close();
  const missing = await caught(clientOf(t, { address, ...files }).submit('echo'));
  assert.ok(missing instanceof actord.Unauthenticated);
  assert.equal(missing.reason, 'TOKEN_MISSING');
  // A certificate is required, and so is the name in the daemon's.
  for (const wrong of [{ tlsCa: files.tlsCa, token },
    { ...files, token, tlsServerName: 'other.example' }]) {
    const error = await caught(
      clientOf(t, { address, maxAttempts: 1, ...wrong }).submit('echo'));
    assert.ok(error instanceof actord.Unavailable, String(error));
  }
  const worker = new actord.Worker({ client }).command('manual.*', () => {});
  assert.ok(await caught(worker.start()) instanceof actord.PermissionDenied);
});

test('tokens that others can read are not sent', () => {
  for (const [options, words] of [
    [{ tokenFile: openFile }, /0640 at most/],
    [{ token, address: 'example.com:7600' }, /plain text/],
    [{ token, address: '127.0.0.1.example.com:7600' }, /plain text/],
    [{ token, address: '[fe80::1]:7600' }, /plain text/]]) {
    assert.throws(() => new actord.Client(options), (error) => {
      assert.match(error.message, words);
      return !String(error.stack).includes(token);
    });
  }
  for (const near of ['127.8.9.1:7600', '[::1]:7600', 'localhost:7600', 'unix:/a']) {
    new actord.Client({ tokenFile: secretFile, address: near }).close();
  }
});
