// The options of each method. An option that a method does not take is a mistake of
// the caller, and would otherwise have no effect.

const CALL = ['timeoutMs', 'signal'];
const START = [...CALL, 'contentType', 'method', 'requestId', 'messages', 'priority',
  'name', 'durability', 'labels'];
const ITEM = ['topic', 'contentType', 'messageId'];
const OPTIONS = {
  Client: ['address', 'token', 'tokenFile', 'tlsCa', 'tlsCert', 'tlsKey',
    'tlsServerName', 'timeoutMs', 'maxAttempts'],
  submit: [...START, 'onNameConflict'],
  run: [...START, 'check'],
  send: [...CALL, ...ITEM],
  call: [...CALL, ...ITEM, 'start'],
  start: ['processType', 'input', 'contentType', 'method', 'priority', 'durability',
    'labels'],
  awaitOutcome: [...CALL, 'check'],
  cancel: [...CALL, 'deadlineMs'],
  terminate: CALL,
  completeYield: [...CALL, 'contentType', 'error', 'code'],
  describe: CALL,
  ps: [...CALL, 'state', 'parentPid', 'labels', 'pageSize'],
  ended: [...CALL, 'end', 'owner', 'labels', 'pageSize'],
  yields: [...CALL, 'pid', 'pageSize'],
  watch: [...CALL, 'parentPid', 'labels', 'resumeToken', 'skipSnapshot'],
  subscribe: CALL,
  sendStream: [...CALL, 'maxUnacknowledged'],
  invoke: [...CALL, 'repeatable'],
  'SendStream.send': ITEM,
  Worker: ['client', 'name', 'concurrency', 'stopTimeoutMs', 'onWarning'],
  'Worker.command': ['attempts'],
  'Worker.run': ['signals'],
  'Worker.start': ['timeoutMs'],
  Refuse: ['code'],
  Retry: ['delayMs', 'message'],
};
const MAX_TYPOS = 2;

/**
 * Throws TypeError if `options` is not an object, or has an option that the method
 * does not take.
 * @param {keyof typeof OPTIONS} method @param {object} options
 * @param {string} [meant] the option that is meant by a value without a name
 */
export function checkOptions(method, options, meant) {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const given = shown(options);
    throw new TypeError(`the options of ${method} must be an object, not ${given}`
      + (meant ? `; did you mean { ${meant}: ${given} }?` : ''));
  }
  const known = OPTIONS[method];
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    throw new TypeError(`${method} takes no option "${name}"; `
      + (near ? `did you mean ${near}?` : `it takes ${known.join(', ')}`));
  }
}

/** The value as a text for people. @param {unknown} value */
export function shown(value) {
  return typeof value === 'string' ? `'${value}'`
    : typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** @param {string} given @param {readonly string[]} known */
function nearest(given, known) {
  const plain = (/** @type {string} */ name) => name.replace(/[_-]/g, '').toLowerCase();
  const wanted = plain(given);
  return known.find((name) => plain(name) === wanted)
    ?? known.find((name) => wanted.length > 2 && plain(name).startsWith(wanted))
    ?? known.find((name) => wanted.length > MAX_TYPOS
      && distance(plain(name), wanted) <= MAX_TYPOS);
}

/**
 * How many letters must be inserted, removed or replaced to make one text of the other.
 * @param {string} one @param {string} other
 */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[other.length];
}
