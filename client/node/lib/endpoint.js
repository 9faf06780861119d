// Where the daemon is, and how to reach it: settings, else the environment variables
// of actorctl, else its defaults.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { BlockList, isIP, isIPv6 } from 'node:net';

import grpc from '@grpc/grpc-js';

import { findSetting, reading, textOf, wrongFile } from './settings.js';
import { readTlsFiles } from './tls_files.js';
import { explainUnreached } from './unreached.js';

/**
 * @typedef {import('../types/index.js').ClientOptions} ClientOptions
 * @typedef {import('./settings.js').Setting} Setting
 */

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7600;
const TOKEN = /^(atk_[0-9a-z]{8}_[A-Za-z0-9_-]{43})_([0-9a-f]{8})$/;
const HOST = /^[A-Za-z0-9._-]+$/;
const DIGITS = /^[0-9]+$/;
const MAX_SOCKET_PATH_BYTES = 107;
// A file with a secret has the mode 0640 at most.
const FORBIDDEN_MODE = 0o7777 & ~0o640;
const TOKEN_CHARACTERS = 65;
const MAX_TOKEN_FILE_BYTES = 4096;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Throws TypeError if the settings are not possible or not safe, and the error of
 * the file system if a file cannot be read.
 * @param {ClientOptions} options
 */
export function findEndpoint(options) {
  const address = wholeAddress(options.address === undefined
    ? process.env.ACTORD_ADDRESS || DEFAULT_HOST : textOf(options.address, 'address'));
  const token = findToken(options);
  const serverName = findSetting(options.tlsServerName, 'tlsServerName',
    'ACTORD_CLIENT_TLS_SERVER_NAME');
  const certificate = findSetting(options.tlsCert, 'tlsCert',
    'ACTORD_CLIENT_TLS_CERTIFICATE');
  const tls = address.startsWith('unix:') ? null : findTls(
    findSetting(options.tlsCa, 'tlsCa', 'ACTORD_CLIENT_TLS_CA'), certificate,
    findSetting(options.tlsKey, 'tlsKey', 'ACTORD_CLIENT_TLS_KEY'), serverName);
  if (token !== undefined && tls === null && !staysOnThisMachine(address)) {
    throw new TypeError(`the token is not sent to ${address}: the connection is `
      + 'plain text, so that others on the network could read the token. Use TLS, a '
      + 'Unix socket, or a tunnel that ends at 127.0.0.1');
  }
  const metadata = new grpc.Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return {
    address,
    /** @param {string} message of gRPC, with the code UNAVAILABLE */
    explain: (message) => explainUnreached(message, {
      address,
      hasTls: tls !== null,
      hasCertificate: certificate !== null,
      whyExpired: tls?.whyExpired ?? (() => ''),
    }),
    metadata,
    credentials: tls?.credentials ?? grpc.credentials.createInsecure(),
    channelOptions: tls && serverName
      ? { 'grpc.ssl_target_name_override': serverName.value } : {},
  };
}

/**
 * The address, with the port 7600 if it is a host alone. Throws TypeError unless it is
 * HOST[:PORT], [IPV6][:PORT] or unix:PATH.
 * @param {string} given
 */
function wholeAddress(given) {
  const isHost = (given.startsWith('[') && given.endsWith(']'))
    || (HOST.test(given) && !DIGITS.test(given));
  const address = isHost ? `${given}:${DEFAULT_PORT}` : given;
  const why = whyNoAddress(address);
  if (why) {
    throw new TypeError(`'${given}' is not an address: ${why}. Expected `
      + 'HOST[:PORT], [IPV6][:PORT] or unix:PATH');
  }
  return address;
}

/** @param {string} address */
function whyNoAddress(address) {
  if (address.startsWith('unix:')) {
    const bytes = Buffer.byteLength(address) - 'unix:'.length;
    return bytes > 0 && bytes <= MAX_SOCKET_PATH_BYTES && !address.includes('\0')
      ? '' : `a path has 1 to ${MAX_SOCKET_PATH_BYTES} bytes`;
  }
  if (!address) return 'it is empty';
  if (address.includes('://')) return 'it is a URL';
  if (address.includes('/')) return 'unix: must stand before the path of a socket';
  const colon = address.lastIndexOf(':');
  if (DIGITS.test(address) || colon === 0) return 'the host is missing';
  const host = address.slice(0, Math.max(colon, 0));
  const port = address.slice(colon + 1);
  if (isIPv6(address) || isIPv6(host)) return 'an IPv6 address must be in brackets';
  if (colon < 0) return `'${address}' is not a host name`;
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

/** @param {ClientOptions} options @returns {string | undefined} */
function findToken(options) {
  if (options.token !== undefined && options.tokenFile !== undefined) {
    throw new TypeError('give token or tokenFile, not both');
  }
  if (options.token !== undefined) {
    const token = textOf(options.token, 'token').trim();
    checkToken(token, 'token');
    return token;
  }
  const setting = findSetting(options.tokenFile, 'tokenFile', 'ACTORD_TOKEN_FILE');
  if (!setting) return undefined;
  const token = reading(setting, () => readToken(setting));
  checkToken(token, `${setting.origin}: ${setting.value}`);
  return token;
}

/** @param {Setting} setting */
function readToken(setting) {
  const file = openSync(setting.value, 'r');
  try {
    const status = fstatSync(file);
    const { mode, uid, size } = status;
    if (status.isDirectory()) throw wrongFile(setting, 'is a directory');
    if (mode & FORBIDDEN_MODE) {
      const octal = (mode & 0o7777).toString(8).padStart(4, '0');
      throw wrongFile(setting, `has mode ${octal}, and a token file may have 0640 `
        + 'at most: chmod 0600');
    }
    if (uid !== 0 && uid !== process.geteuid?.()) {
      throw wrongFile(setting, 'belongs to another user, and must belong to you or to '
        + 'root');
    }
    if (size > MAX_TOKEN_FILE_BYTES) {
      throw wrongFile(setting, 'must be one token, as actorctl token new prints it');
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
  if (match && crc32(Buffer.from(match[1])) === parseInt(match[2], 16)) return;
  const why = !token ? 'it is empty'
    : token.length !== TOKEN_CHARACTERS ? `this text has ${token.length}`
      : 'a character of it is wrong';
  throw new TypeError(`${origin}: must be one token of ${TOKEN_CHARACTERS} characters, as `
    + `actorctl token new prints it, and ${why}`);
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
 * @param {Setting | null} ca @param {Setting | null} cert @param {Setting | null} key
 * @param {Setting | null} serverName
 */
function findTls(ca, cert, key, serverName) {
  if (!ca) {
    const useless = cert ?? key ?? serverName;
    if (useless) {
      throw new TypeError(`${useless.origin} needs tlsCa, the authority of the daemon's `
        + 'certificate; without it there is no TLS');
    }
    return null;
  }
  if (!cert !== !key) {
    throw new TypeError(`${(cert ?? key ?? ca).origin} needs ${cert ? 'tlsKey'
      : 'tlsCert'}, too: a certificate and its key belong together`);
  }
  return readTlsFiles(ca, cert, key);
}

/** @param {string} address */
function staysOnThisMachine(address) {
  if (address.startsWith('unix:')) return true;
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family) return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
  return host.toLowerCase() === 'localhost';
}
