// A remote worker in Node: handles text.upper for processes, eight at a time.
//
// Usage: npm ci && node worker.js ADDRESS PROTO_DIRECTORY [TOKEN_FILE]
//
// PROTO_DIRECTORY is this project's proto/; no code needs to be generated.
// TOKEN_FILE holds the token for a daemon that checks tokens. On SIGTERM the worker finishes the tasks that it holds and exits.
//
// For a daemon with TLS it takes the variables of actorctl: PEM files in
// ACTORD_CLIENT_TLS_CA (not set: no TLS), ACTORD_CLIENT_TLS_CERTIFICATE and
// ACTORD_CLIENT_TLS_KEY, and a name in ACTORD_CLIENT_TLS_SERVER_NAME.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const fs = require('fs');

const AT_A_TIME = 8;
const RECONNECT_MS = 1000;

// Handles one task. Returns a promise, so that Node sends heartbeats meanwhile.
// If the promise is rejected with an error whose `final` is set, the task is
// not retried.
async function carryOut(task) {
  const text = task.payload.data.toString();
  if (text === '') {
    throw Object.assign(new Error('there is no text'), { final: true });
  }
  return Buffer.from(text.toUpperCase());
}

function contentOf(variable) {
  const path = process.env[variable];
  return path ? fs.readFileSync(path) : null;
}

function hasTls(address) {
  return !address.startsWith('unix:') && !!process.env.ACTORD_CLIENT_TLS_CA;
}

// The credentials and options of a client of this address. A Unix socket has no
// TLS.
function protection(address) {
  if (!hasTls(address)) {
    return [grpc.credentials.createInsecure(), {}];
  }
  const name = process.env.ACTORD_CLIENT_TLS_SERVER_NAME;
  return [
    grpc.credentials.createSsl(contentOf('ACTORD_CLIENT_TLS_CA'),
      contentOf('ACTORD_CLIENT_TLS_KEY'),
      contentOf('ACTORD_CLIENT_TLS_CERTIFICATE')),
    name ? { 'grpc.ssl_target_name_override': name } : {},
  ];
}

// The metadata that presents the token, which must not cross a network in plain
// text.
function authorization(address, tokenFile) {
  const metadata = new grpc.Metadata();
  if (!tokenFile) return metadata;
  if (fs.statSync(tokenFile).mode & 0o007) {
    throw new Error(`${tokenFile}: others may read it: chmod 0640`);
  }
  if (!hasTls(address)
    && !/^(unix:|unix-abstract:|127\.[\d.]+:|\[::1\]:|localhost:)/.test(address)) {
    throw new Error(`the token is not sent to ${address}: the connection is `
      + 'plain text, so that others on the network could read the token');
  }
  const token = fs.readFileSync(tokenFile, 'ascii').trim();
  metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

// Errors that another attempt would not change.
const FINAL = [grpc.status.INVALID_ARGUMENT, grpc.status.UNAUTHENTICATED,
  grpc.status.PERMISSION_DENIED];

class Worker {
  constructor(address, protoDirectory, tokenFile) {
    this.metadata = authorization(address, tokenFile);
    const definition = loader.loadSync('actord/v1/actor_service.proto', {
      includeDirs: [protoDirectory], keepCase: true, enums: String,
      longs: Number, defaults: true, oneofs: true,
    });
    const { ActorService } = grpc.loadPackageDefinition(definition).actord.v1;
    this.client = new ActorService(address, ...protection(address));
    this.stopping = false;
  }

  start() {
    this.held = new Map(); // token: its heartbeat's timer
    const stream = this.client.Work(this.metadata);
    this.stream = stream;
    stream.on('data', (response) => this.take(stream, response));
    stream.on('error', (error) => this.broken(error));
    stream.on('end', () => this.broken(null));
    stream.write({
      subscribe: { commands: ['text.upper'], worker: 'node' },
      add_credits: AT_A_TIME,
    });
  }

  take(stream, response) {
    for (const task of response.tasks) this.run(stream, task);
    for (const cancel of response.cancels) {
      console.log(`worker.js: ${cancel.token} was taken back`);
      this.drop(cancel.token);
    }
    for (const answer of response.answers) {
      if (answer.kind === 'KIND_HEARTBEAT') continue;
      const what = answer.refusal ? answer.refusal.reason : answer.answer;
      console.log(`worker.js: ${answer.token} ${what}`);
      this.drop(answer.token);
      if (!this.stopping) stream.write({ add_credits: 1 });
    }
    this.leaveIfDone();
  }

  async run(stream, task) {
    const leaseMs = task.lease.seconds * 1000 + task.lease.nanos / 1e6;
    this.held.set(task.token, setInterval(
      () => stream.write({ heartbeats: [{ token: task.token }] }),
      leaseMs / 3));
    try {
      const data = await carryOut(task);
      const content_type = task.payload.content_type;
      stream.write({
        completions: [{ token: task.token, result: { data, content_type } }],
      });
    } catch (error) {
      const why = {
        code: error.final ? grpc.status.FAILED_PRECONDITION
          : grpc.status.UNKNOWN,
        message: error.message,
      };
      stream.write(error.final
        ? { completions: [{ token: task.token, error: why }] }
        : { failures: [{ token: task.token, error: why }] });
    }
  }

  drop(token) {
    clearInterval(this.held.get(token));
    this.held.delete(token);
  }

  // The daemon hands held tasks to other workers.
  broken(error) {
    if (this.stream === null) return;
    this.stream = null;
    for (const token of [...this.held.keys()]) this.drop(token);
    if (error) console.log(`worker.js: ${error.message}`);
    if (error && FINAL.includes(error.code)) process.exit(1);
    if (this.stopping) this.client.close();
    else setTimeout(() => this.start(), RECONNECT_MS);
  }

  stop() {
    this.stopping = true;
    if (this.stream === null) process.exit(0);
    this.stream.write({ stop: true });
    this.leaveIfDone();
  }

  leaveIfDone() {
    if (this.stopping && this.held.size === 0) this.stream.end();
  }
}

const [address, protoDirectory, tokenFile] = process.argv.slice(2);
const worker = new Worker(address, protoDirectory, tokenFile);
process.on('SIGTERM', () => worker.stop());
worker.start();
