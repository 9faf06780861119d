// TLS and tokens, by options and by the environment. node_test.py gives the files.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as actord from 'actord';
import { caught, clientOf } from './harness.mjs';

const { files, token, address, secretFile, openFile, plainAddress, stranger, old,
  tlsAddress, directory } = JSON.parse(process.env.SECURED);

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

test('a handshake that fails names the setting to change', async (t) => {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('ACTORD_')) delete process.env[name];
  }
  const { tlsCa } = files;
  const closed = 'the daemon closed the connection: ';
  for (const [where, options, hint] of [
    [address, {}, `${closed}if it serves TLS, give tlsCa`],
    [address, { tlsCa: stranger.tlsCa },
      'tlsCa is not the authority of the daemon\'s certificate, or that certificate is '
      + 'expired'],
    [address, { tlsCa, tlsServerName: 'other.example' },
      'the daemon\'s certificate is of another name: give one of its names as '
      + 'tlsServerName'],
    [address, { tlsCa },
      `${closed}if it requires a certificate, give tlsCert and tlsKey`],
    [address, { ...old, tlsCa },
      `${closed}tlsCert: ${old.tlsCert}: the certificate expired at 2020-01-01T00:00:00Z`],
    [address, { ...stranger, tlsCa },
      `${closed}if it does not accept the certificate, give one of an authority in its `
      + 'tls.client_ca'],
    [plainAddress, { tlsCa },
      'the daemon answers without TLS: leave tlsCa and ACTORD_CLIENT_TLS_CA out']]) {
    const client = clientOf(t, { address: where, maxAttempts: 1, ...options });
    const error = await caught(client.submit('echo'));
    assert.ok(error instanceof actord.Unavailable, String(error));
    assert.ok(error.message.endsWith(`: ${hint}`), error.message);
    const impatient = clientOf(t, { address: where, timeoutMs: 1000, ...options });
    const stream = await caught(impatient.watch().next());
    assert.ok(stream.message.endsWith(`: ${hint}`), stream.message);
  }
  const nowhere = clientOf(t, { address: '127.0.0.1:1', maxAttempts: 1, tlsCa });
  assert.doesNotMatch((await caught(nowhere.submit('echo'))).message, /tlsC/);
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

test('a wrong TLS file is named with its option', () => {
  const none = 'has no certificate in PEM (-----BEGIN CERTIFICATE-----)';
  const missing = `${directory}/missing`;
  for (const option of ['tlsCa', 'tlsCert', 'tlsKey']) {
    assert.throws(() => new actord.Client({ ...files, [option]: missing }), {
      code: 'ENOENT',
      path: missing,
      message: `${option} cannot be read: ENOENT: no such file or directory, open `
        + `'${missing}'`,
    });
  }
  for (const [options, text] of [
    [{ tlsCa: openFile }, `tlsCa: ${openFile}: ${none}`],
    [{ tlsCa: files.tlsKey }, `tlsCa: ${files.tlsKey}: ${none}, but a private key`],
    [{ tlsCa: old.tlsCert }, `tlsCa: ${old.tlsCert}: the certificate expired at `
      + '2020-01-01T00:00:00Z; give the present certificate of the authority'],
    [{ tlsCert: openFile }, `tlsCert: ${openFile}: ${none}`],
    [{ tlsCert: `${directory}/damaged` },
      `tlsCert: ${directory}/damaged: the first certificate is damaged`],
    [{ tlsKey: files.tlsCert }, `tlsKey: ${files.tlsCert}: has no private key in PEM `
      + '(-----BEGIN PRIVATE KEY-----)'],
    [{ tlsKey: `${directory}/damaged.key` },
      `tlsKey: ${directory}/damaged.key: the private key is damaged`],
    [{ tlsKey: `${directory}/locked.key` },
      `tlsKey: ${directory}/locked.key: the key has a passphrase, and must have none: `
      + 'openssl pkey -in KEY -out NEW removes it'],
    [{ tlsKey: old.tlsKey }, `tlsKey: ${old.tlsKey}: the key does not belong to the first `
      + `certificate in ${files.tlsCert}, which must be the client's own`]]) {
    assert.throws(() => new actord.Client({ ...files, ...options }),
      { name: 'TypeError', message: text });
  }
});

test('TLS files that gRPC can use are taken', async (t) => {
  for (const options of [{}, { tlsCa: `${directory}/old-and-new` },
    { tlsCa: `${directory}/damaged-behind` },
    { tlsCert: `${directory}/both`, tlsKey: `${directory}/both` }]) {
    const client = clientOf(t, { address, token, ...files, ...options });
    assert.equal((await client.run('echo', 'a')).text, 'a');
  }
  // A daemon that does not ask for the client's certificate.
  const client = clientOf(t, { address: tlsAddress, ...old, tlsCa: files.tlsCa });
  assert.equal((await client.run('echo', 'a')).text, 'a');
});
