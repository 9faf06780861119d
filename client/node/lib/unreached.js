// Says for people why no daemon answers, and what to change. actorctl says the same in
// its own names (client/cli/errors/unreached.cc).

// What Node and gRPC say, and what it means. At a Unix socket some of it means other
// things.
/** @type {[RegExp, string][]} */
const NOTHING_THERE = [
  [/ECONNREFUSED/, 'the connection is refused: no program listens at this address'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no route to the host'],
  [/Name resolution failed/, 'the name of the host cannot be resolved'],
  [/ETIMEDOUT/, 'timed out: nothing has answered in time'],
];
/** @type {[RegExp, string][]} */
const NO_SOCKET = [
  [/ECONNREFUSED/, 'the connection is refused: no program listens on this socket'],
  [/ENOENT/, 'there is no such socket'],
  [/EACCES/, 'permission denied: the mode and the group of the socket '
    + '(server.unix_mode, server.unix_group) exclude this user'],
];
// gRPC makes an error of the HTTP status.
export const ANSWERS_HTTP2 = /^Received HTTP status code /;
const NOT_REACHED = /^No connection established|^Name resolution failed/;
// What gRPC adds to a reason. With the time, each text would be another one.
const NOISE = /^No connection established\. Last error: (Error: )?| \(\d{4}-[0-9T:.-]+Z\)|\.? Resolution note: *$/g;

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

/**
 * @typedef {object} Connection
 * @property {string} address
 * @property {boolean} hasTls
 * @property {boolean} hasCertificate
 * @property {() => string} whyExpired of the client's certificate; '': it has not
 */

/**
 * The error `message` of gRPC with the code UNAVAILABLE or of ANSWERS_HTTP2, for people.
 * @param {string} message @param {Connection} connection
 */
export function explainUnreached(message, connection) {
  const { address } = connection;
  const cannotReach = `cannot reach the daemon at ${address}: `;
  if (ANSWERS_HTTP2.test(message)) {
    return `${cannotReach}it answers HTTP/2 and not gRPC: this is another program, or a `
      + 'proxy that has not reached the daemon';
  }
  if (!NOT_REACHED.test(message)) return message; // there was a connection
  const isUnix = address.startsWith('unix:');
  for (const [text, reason] of isUnix ? NO_SOCKET : NOTHING_THERE) {
    if (text.test(message)) return `${cannotReach}${reason}. Is actord running there?`;
  }
  const hint = isUnix ? '' : handshakeHint(message, connection);
  return cannotReach + (hint || message.replace(NOISE, ''));
}

/**
 * What to change if this error of gRPC comes of TLS; '': nothing is known.
 * @param {string} message @param {Connection} connection
 */
function handshakeHint(message, { hasTls, hasCertificate, whyExpired }) {
  for (const [text, hint] of hasTls ? HANDSHAKE_HINTS : []) {
    if (text.test(message)) return hint;
  }
  const other = message.includes('Protocol error')
    ? 'it does not answer gRPC: this may be the admin port (admin.listen) instead of '
      + 'server.listen, or ' : '';
  if (!other && !/ECONNRESET|Failed to connect|closed|alert/.test(message)) return '';
  return `${other}the daemon closed the connection: ${
    !hasTls ? 'if it serves TLS, give tlsCa'
      : !hasCertificate ? 'if it requires a certificate, give tlsCert and tlsKey'
        : whyExpired() || 'if it does not accept the certificate, give one of an '
          + 'authority in its tls.client_ca'}`;
}
