// The settings of a client: which are refused, and their defaults; and what is said
// without a daemon.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { test } from 'node:test';

import * as actord from 'actord';
import { caught, clientOf, sleep } from './harness.mjs';

const ABSENT = 'cannot reach the daemon at 127.0.0.1:1: the connection is refused: no '
  + 'program listens at this address. Is actord running there?';
const TOKEN = 'atk_zzzzzzzz_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_0b0ab0f6';

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'actord-settings-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

function refused(settings, text) {
  assert.throws(() => new actord.Client(settings), (error) => {
    assert.ok(error instanceof TypeError, String(error));
    if (text instanceof RegExp) assert.match(error.message, text);
    else assert.equal(error.message, text);
    return !error.message.includes('AAAA');
  });
}

test('a host alone has the default port', (t) => {
  for (const [given, address] of [['localhost', 'localhost:7600'],
    ['[::1]', '[::1]:7600'], ['10.0.0.1:1', '10.0.0.1:1'], ['unix:name', 'unix:name']]) {
    assert.equal(clientOf(t, { address: given }).address, address);
  }
});

test('impossible settings are refused', () => {
  for (const [settings, text] of [
    [{ address: 7600 }, 'address must be a string, not number'],
    [{ token: Buffer.from('t') }, 'token must be a string, not object'],
    [{ token: TOKEN, tokenFile: 'f' }, /not both/],
    [{ tlsCa: null }, 'tlsCa must be a string, not null'],
    [{ tlsCert: 'c' }, /^tlsCert needs tlsCa, /],
    [{ tlsServerName: 'n' }, /^tlsServerName needs tlsCa, /],
    [{ tlsCa: 'a', tlsCert: 'c' }, /^tlsCert needs tlsKey, too: .* belong together$/],
    [{ tlsCa: 'a', tlsKey: 'k' }, /^tlsKey needs tlsCert, too: /],
    [{ timeoutMs: NaN }, 'a timeout is null or a number of at least 0 ms, not NaN'],
    [{ timeoutMs: '5' }, "a timeout is null or a number of at least 0 ms, not '5'"],
    [{ maxAttempts: 0 }, /maxAttempts/],
    [{ token_file: 'f' }, 'Client takes no option "token_file"; did you mean tokenFile?'],
  ]) {
    refused(settings, text);
  }
});

test('what is no address is refused', () => {
  for (const [address, why] of [
    ['', 'it is empty'],
    ['http://127.0.0.1:7600', 'it is a URL'],
    ['/run/actord.sock', 'unix: must stand before the path of a socket'],
    ['unix:', 'a path has 1 to 107 bytes'],
    ['7600', 'the host is missing'],
    [':7600', 'the host is missing'],
    ['::1', 'an IPv6 address must be in brackets'],
    ['::1:7600', 'an IPv6 address must be in brackets'],
    ['[::g]', '[::g] is not an IPv6 address in brackets'],
    ['[::g]:1', '[::g] is not an IPv6 address in brackets'],
    ['a b', "'a b' is not a host name"],
    ['a b:1', "'a b' is not a host name"],
    ['a:1,b:2', "'a:1,b' is not a host name"],
    ['localhost:', "'' is not a port from 1 to 65535"],
    ['127.0.0.1:0', "'0' is not a port from 1 to 65535"]]) {
    refused({ address }, `'${address}' is not an address: ${why}. Expected `
      + 'HOST[:PORT], [IPV6][:PORT] or unix:PATH');
  }
});

test('what is no token is refused', (t) => {
  const must = 'must be one token of 65 characters, as actorctl token new prints it, and ';
  refused({ token: '' }, `token: ${must}it is empty`);
  refused({ token: TOKEN.slice(1) }, `token: ${must}this text has 64`);
  refused({ token: TOKEN }, `token: ${must}a character of it is wrong`);
  const path = join(folder(t), 'token');
  const tokenFile = path;
  assert.throws(() => new actord.Client({ tokenFile }), {
    code: 'ENOENT',
    path,
    message: `tokenFile cannot be read: ENOENT: no such file or directory, open '${path}'`,
  });
  for (const [content, why] of [['\n', 'it is empty'],
    [`${TOKEN}\n${TOKEN}\n`, 'this text has 131']]) {
    writeFileSync(path, content);
    chmodSync(path, 0o600);
    refused({ tokenFile }, `tokenFile: ${path}: ${must}${why}`);
  }
  refused({ tokenFile: tmpdir() }, `tokenFile: ${tmpdir()}: is a directory`);
});

test('no daemon is unavailable, and a closed client says so', async (t) => {
  const none = clientOf(t, { address: '127.0.0.1:1', maxAttempts: 2 });
  const unreached = await caught(none.submit('echo'));
  assert.ok(unreached instanceof actord.Unavailable);
  assert.equal(unreached.code, 'UNAVAILABLE');
  assert.equal(unreached.reason, '');
  assert.equal(unreached.message, ABSENT);
  const client = clientOf(t);
  const pid = await client.submit('probe', '', { method: 'idle' });
  const waiting = caught(client.awaitOutcome(pid));
  await sleep(50);
  client.close();
  assert.equal((await waiting).code, 'CANCELLED');
  await assert.rejects(client.submit('echo'), /^Error: the client is closed$/);
});

test('a socket without a daemon is unavailable', async (t) => {
  const address = `unix:${folder(t)}/socket`;
  const client = clientOf(t, { address, maxAttempts: 1 });
  assert.equal((await caught(client.submit('echo'))).message, `cannot reach the daemon at ${
    address}: there is no such socket. Is actord running there?`);
});

// The address of a program that is not the daemon and does this with each connection.
async function strangeProgram(t, serve) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${server.address().port}`;
}

test('a program that does not speak gRPC is not the daemon', async (t) => {
  const address = await strangeProgram(t, (socket) => {
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  const client = clientOf(t, { address, maxAttempts: 1 });
  assert.match((await caught(client.submit('echo'))).message,
    /: it does not answer gRPC: this may be the admin port \(admin\.listen\)/);
});

test('a program of HTTP/2 is not the daemon', async (t) => {
  const server = http2.createServer().on('stream', (stream) => {
    stream.respond({ ':status': 404 }, { endStream: true });
  });
  const sessions = new Set();
  server.on('session', (session) => sessions.add(session));
  t.after(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = clientOf(t, {
    address: `127.0.0.1:${server.address().port}`, maxAttempts: 1 });
  const error = await caught(client.submit('echo'));
  assert.match(error.message, /: it answers HTTP\/2 and not gRPC: this is another/);
  assert.ok(!(error instanceof actord.DaemonTooOld));
});

test('a call without an answer says that its time has passed', async (t) => {
  const client = clientOf(t, { address: await strangeProgram(t, () => {}) });
  const late = await caught(client.submit('echo', 'a', { timeoutMs: 100 }));
  assert.ok(late instanceof actord.DeadlineExceeded);
  assert.equal(late.message, 'the timeout has passed, and the daemon has not answered');
});

test('a worker without a daemon says so once', async () => {
  const warnings = [];
  const worker = new actord.Worker({
    client: { address: '127.0.0.1:1' }, onWarning: (text) => warnings.push(text),
  }).command('manual.*', () => {});
  // Some attempts follow each other within this time.
  const late = await caught(worker.start({ timeoutMs: 1000 }));
  assert.deepEqual(warnings, [`the worker keeps trying: ${ABSENT}`]);
  assert.ok(late instanceof actord.DeadlineExceeded);
  assert.equal(late.message,
    `the daemon has not accepted the worker within 1000 ms: ${ABSENT}`);
});
