// The PEM files of a client: read, and checked, so that an error names the option and the
// file. gRPC says it in OpenSSL's words, or says only that a handshake failed.
//
// The checks refuse no file that gRPC would use. A certificate of the client that has
// expired is no mistake here: a daemon without `tls.client_ca` does not ask for it.

import { X509Certificate, createPrivateKey } from 'node:crypto';

import grpc from '@grpc/grpc-js';

import { readBytes, wrongFile } from './settings.js';

/** @typedef {import('./settings.js').Setting} Setting */

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----.*?-----END [A-Z0-9 ]+-----/gs;
const KEY_MARK = 'PRIVATE KEY-----';

/**
 * The credentials of these files. `whyExpired` says when the client's own certificate has
 * expired; '': it has not, or there is none.
 * @param {Setting} authority @param {Setting | null} certificate
 * @param {Setting | null} key
 */
export function readTlsFiles(authority, certificate, key) {
  const ca = readBytes(authority);
  const ends = certificatesOf(ca, authority).map(endOf);
  const end = Math.max(...ends);
  if (end <= Date.now()) {
    throw wrongFile(authority, `${expired(end)}; give the present certificate of the `
      + 'authority');
  }
  if (!certificate || !key) {
    return { credentials: grpc.credentials.createSsl(ca), whyExpired: () => '' };
  }
  const own = readBytes(certificate);
  const secret = readBytes(key);
  const [first] = certificatesOf(own, certificate);
  return {
    credentials: createSsl(ca, secret, own, (error) => (
      whyNoPair(first, certificate, secret, key)
        ?? wrongFile(certificate, `cannot be used: ${error.message}`))),
    whyExpired: () => (endOf(first) > Date.now() ? ''
      : `${certificate.origin}: ${certificate.value}: ${expired(endOf(first))}`),
  };
}

/**
 * @param {Buffer} ca @param {Buffer} key @param {Buffer} certificate
 * @param {(error: Error) => Error} explain the error of OpenSSL
 */
function createSsl(ca, key, certificate, explain) {
  try {
    return grpc.credentials.createSsl(ca, key, certificate);
  } catch (error) {
    throw error instanceof Error ? explain(error) : error;
  }
}

/**
 * Null: the certificate and the key belong together.
 * @param {X509Certificate | null} first @param {Setting} certificate
 * @param {Buffer} pem @param {Setting} key
 */
function whyNoPair(first, certificate, pem, key) {
  if (!pem.includes(KEY_MARK)) {
    return wrongFile(key, 'has no private key in PEM (-----BEGIN PRIVATE KEY-----)');
  }
  let secret;
  try {
    secret = createPrivateKey(pem);
  } catch {
    return wrongFile(key, pem.includes('ENCRYPTED')
      ? 'the key has a passphrase, and must have none: openssl pkey -in KEY -out NEW '
        + 'removes it'
      : 'the private key is damaged');
  }
  if (first && !first.checkPrivateKey(secret)) {
    return wrongFile(key, 'the key does not belong to the first certificate in '
      + `${certificate.value}, which must be the client's own`);
  }
  return null;
}

/**
 * At least one; null for one behind the first that is damaged.
 * @param {Buffer} pem @param {Setting} setting
 */
function certificatesOf(pem, setting) {
  const blocks = pem.toString('latin1').match(CERTIFICATE);
  if (!blocks) {
    throw wrongFile(setting, 'has no certificate in PEM (-----BEGIN CERTIFICATE-----)'
      + (pem.includes(KEY_MARK) ? ', but a private key' : ''));
  }
  const found = blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      return null;
    }
  });
  if (!found[0]) throw wrongFile(setting, 'the first certificate is damaged');
  return found;
}

/**
 * When a certificate ends, in ms since 1970; Infinity: not known.
 * @param {X509Certificate | null} certificate
 */
function endOf(certificate) {
  const end = Date.parse(certificate?.validTo ?? '');
  return Number.isNaN(end) ? Infinity : end;
}

/** @param {number} end */
function expired(end) {
  return `the certificate expired at ${new Date(end).toISOString().replace('.000', '')}`;
}
