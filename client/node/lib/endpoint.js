// Where the daemon is, and how to reach it: settings, else the environment variables
// of actorctl, else its defaults.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { BlockList, isIP, isIPv6 } from 'node:net';

import grpc from '@grpc/grpc-js';

/** @typedef {import('../types/index.js').ClientOptions} ClientOptions */

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7600;
const TOKEN = /^(atk_[0-9a-z]{8}_[A-Za-z0-9_-]{43})_([0-9a-f]{8})$/;
const HOST = /^[A-Za-z0-9._-]+$/;
const MAX_SOCKET_PATH_BYTES = 107;
// A file with a secret has the mode 0640 at most.
const FORBIDDEN_MODE = 0o7777 & ~0o640;
const TOKEN_CHARACTERS = 65;
const MAX_TOKEN_FILE_BYTES = 4096;

// What Node says of a failed handshake, and what the caller can do.
/** @type {[RegExp, string][]} */
const HANDSHAKE_HINTS = [
  [/unable to (get|verify)|self[- ]signed certificate|certificate has expired/,
    'tlsCa is not the authority of the daemon\'s certificate, or that certificate is '
    + 'expired'],
  [/does not match certificate's altnames/,
    'the daemon\'s certificate is of another name: give one of its names as '
    + 'tlsServerName'],
  [/wrong version number|packet length too long/,
    'the daemon answers without TLS: leave tlsCa and ACTORD_CLIENT_TLS_CA out'],
];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Throws TypeError if the settings are not possible or not safe, and the error of
 * the file system if a file cannot be read.
 * @param {ClientOptions} options
 */
export function findEndpoint(options) {
  const address = withDefaultPort(
    setting(options.address, 'ACTORD_ADDRESS') ?? DEFAULT_HOST);
  checkAddress(address);
  const isSocket = address.startsWith('unix:');
  const token = findToken(options);
  const tls = isSocket ? null : findTls(options);
  if (token !== undefined && tls === null && !staysOnThisMachine(address)) {
    throw new TypeError(`the token is not sent to ${address}: the connection is `
      + 'plain text, so that others on the network could read the token. Use TLS, a '
      + 'Unix socket, or a tunnel that ends at 127.0.0.1');
  }
  const metadata = new grpc.Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  const serverName = setting(options.tlsServerName, 'ACTORD_CLIENT_TLS_SERVER_NAME');
  const hasCertificate = Boolean(
    setting(options.tlsCert, 'ACTORD_CLIENT_TLS_CERTIFICATE'));
  return {
    address,
    /** @param {string} message of gRPC, with the code UNAVAILABLE */
    explain: (message) => explain(message, address, isSocket ? ''
      : handshakeHint(message, tls !== null, hasCertificate)),
    metadata,
    credentials: tls ?? grpc.credentials.createInsecure(),
    channelOptions: tls && serverName
      ? { 'grpc.ssl_target_name_override': serverName } : {},
  };
}

/**
 * This error of gRPC, for people.
 * @param {string} message @param {string} address @param {string} hint
 */
function explain(message, address, hint) {
  let text = message;
  let next = hint;
  if (message.startsWith('No connection established')) {
    text = `cannot reach the daemon at ${address}: ${message}`;
    if (/ECONNREFUSED|ENOENT/.test(message)) {
      next ||= 'no program listens there: is actord running?';
    }
  }
  return next ? `${text}; ${next}` : text;
}

/**
 * What to change if this error of gRPC comes of TLS; '': nothing is known.
 * @param {string} message @param {boolean} hasTls @param {boolean} hasCertificate
 */
function handshakeHint(message, hasTls, hasCertificate) {
  // Otherwise there was a connection.
  if (!message.startsWith('No connection established')) return '';
  for (const [text, hint] of hasTls ? HANDSHAKE_HINTS : []) {
    if (text.test(message)) return hint;
  }
  if (!/ECONNRESET|Failed to connect|closed|Protocol error|alert/.test(message)) return '';
  return 'the daemon closed the connection: ' + (
    !hasTls ? 'if it serves TLS, give tlsCa'
      : !hasCertificate ? 'if it requires a certificate, give tlsCert and tlsKey'
        : 'if it does not accept the certificate, give one of an authority in its '
          + 'tls.client_ca');
}

/**
 * The address with the port 7600 if it is a host alone: HOST or [IPV6]. Other text
 * stays as it is.
 * @param {string} address
 */
function withDefaultPort(address) {
  const isIpv6 = address.startsWith('[') && address.endsWith(']');
  return isIpv6 || HOST.test(address) ? `${address}:${DEFAULT_PORT}` : address;
}

/** @param {string} address */
function checkAddress(address) {
  const why = whyNoAddress(address);
  if (why) {
    throw new TypeError(`'${address}' is not an address: ${why}. Expected `
      + 'HOST[:PORT], [IPV6][:PORT] or unix:PATH');
  }
}

/** @param {string} address */
function whyNoAddress(address) {
  if (address.startsWith('unix:')) {
    const bytes = Buffer.byteLength(address) - 'unix:'.length;
    return bytes > 0 && bytes <= MAX_SOCKET_PATH_BYTES && !address.includes('\0')
      ? '' : `a path has 1 to ${MAX_SOCKET_PATH_BYTES} bytes`;
  }
  if (address.includes('://')) return 'it is a URL';
  const colon = address.lastIndexOf(':');
  if (colon < 0) return `'${address}' is not a host name`;
  const host = address.slice(0, colon);
  const port = address.slice(colon + 1);
  if (host.startsWith('[') && host.endsWith(']')) {
    if (!isIPv6(host.slice(1, -1))) {
      return `${host} is not an IPv6 address in brackets`;
    }
  } else if (!HOST.test(host)) {
    return `'${host}' is not a host name`;
  }
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535) {
    return `'${port}' is not a port from 1 to 65535`;
  }
  return '';
}

/**
 * @param {string | undefined} given @param {string} variable
 * @returns {string | undefined}
 */
function setting(given, variable) {
  if (given !== undefined) return String(given);
  return process.env[variable] || undefined;
}

/** @param {ClientOptions} options @returns {string | undefined} */
function findToken(options) {
  if (options.token !== undefined && options.tokenFile !== undefined) {
    throw new TypeError('give token or tokenFile, not both');
  }
  if (options.token !== undefined) {
    const token = options.token.trim();
    checkToken(token, 'token');
    return token;
  }
  const path = setting(options.tokenFile, 'ACTORD_TOKEN_FILE');
  if (!path) return undefined;
  const token = readToken(path);
  checkToken(token, path);
  return token;
}

/** @param {string} path */
function readToken(path) {
  const file = openSync(path, 'r');
  try {
    const { mode, uid, size } = fstatSync(file);
    if (mode & FORBIDDEN_MODE) {
      const octal = (mode & 0o7777).toString(8).padStart(4, '0');
      throw new TypeError(`${path}: has mode ${octal}, and a file with a token may `
        + 'have 0640 at most: chmod 0600');
    }
    if (uid !== 0 && uid !== process.geteuid?.()) {
      throw new TypeError(`${path}: belongs to another user, and must belong to you `
        + 'or to root');
    }
    if (size > MAX_TOKEN_FILE_BYTES) {
      throw new TypeError(`${path}: must be one token, as actorctl token new prints `
        + 'it');
    }
    return readFileSync(file, 'latin1').trim();
  } finally {
    closeSync(file);
  }
}

/**
 * The error does not repeat the token.
 * @param {string} token @param {string} origin
 */
function checkToken(token, origin) {
  const match = TOKEN.exec(token);
  if (!match || crc32(Buffer.from(match[1])) !== parseInt(match[2], 16)) {
    throw new TypeError(`${origin}: must be one token of ${TOKEN_CHARACTERS} `
      + 'characters, as actorctl token new prints it, and this has '
      + `${token.length}`);
  }
}

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; ++bit) {
      sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/**
 * Null: no TLS.
 * @param {ClientOptions} options
 */
function findTls(options) {
  const ca = setting(options.tlsCa, 'ACTORD_CLIENT_TLS_CA');
  const cert = setting(options.tlsCert, 'ACTORD_CLIENT_TLS_CERTIFICATE');
  const key = setting(options.tlsKey, 'ACTORD_CLIENT_TLS_KEY');
  if (!ca) {
    if (cert || key) {
      throw new TypeError('a certificate of the client needs tlsCa, the authority of '
        + 'the daemon\'s certificate');
    }
    return null;
  }
  if (!cert !== !key) throw new TypeError('tlsCert and tlsKey belong together');
  return grpc.credentials.createSsl(readFileSync(ca), key ? readFileSync(key) : null,
    cert ? readFileSync(cert) : null);
}

/** @param {string} address */
function staysOnThisMachine(address) {
  if (address.startsWith('unix:')) return true;
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family) return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
  return host.toLowerCase() === 'localhost';
}
