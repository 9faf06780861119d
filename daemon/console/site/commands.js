// The lines for a shell that do the same as an action of the console.
import { token } from "./api.js";

/**
 * One word for bash. Characters that a terminal acts on are escaped.
 * @param {string} text @returns {string}
 */
export function quoted(text) {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (/^[\x20-\x7e]*$/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  let escaped = "";
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0;
    if (c === "'" || c === "\\") {
      escaped += `\\${c}`;
    } else if (code >= 0x20 && code < 0x7f) {
      escaped += c;
    } else {
      escaped += code < 0x80
        ? `\\x${code.toString(16).padStart(2, "0")}`
        : `\\U${code.toString(16).padStart(8, "0")}`;
    }
  }
  return `$'${escaped}'`;
}

/** @param {...(string|undefined)} words @returns {string} */
export const actorctl = (...words) =>
  ["actorctl", ...words.filter((one) => one !== undefined && one !== "").map(quoted)].join(" ");

/**
 * The same for a command that takes `payload` after `words`. A payload that the
 * command would read as a file or as an option comes through a pipe.
 * @param {string} payload @param {string[]} words @param {string[]} options
 * @returns {string}
 */
export const actorctlWith = (payload, words, options = []) =>
  /^[@-]/.test(payload)
    ? `printf %s ${quoted(payload)} | ${actorctl(...words, "-", ...options)}`
    : actorctl(...words, payload, ...options);

// Stands for the file with the user's token, whose path the page does not know.
export const TOKEN_FILE = "token.file";

/**
 * The token is never part of the line.
 * @param {string} method @param {object} request @returns {string}
 */
export function curl(method, request) {
  const url = new URL(`../actord.v1.ActorService/${method}`, document.baseURI);
  const auth = token() ? ` -H "Authorization: Bearer $(cat ${TOKEN_FILE})"` : "";
  return `curl -H 'Content-Type: application/json'${auth} -d ${quoted(JSON.stringify(request))} ${quoted(url.href)}`;
}
