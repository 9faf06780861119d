// Actions for a process and for a waiting command.
import { actorctl, actorctlWith } from "../commands.js";
import { ERROR_CODES, payloadOf, word } from "../text.js";

/** @typedef {import("../actions.js").Action} Action */

/**
 * @param {string} pid
 * @param {any} process a Process; null: it has ended
 * @param {any} [recording] a Recording; null: it is not recorded
 * @returns {Action[]}
 */
export function processActions(pid, process, recording = null) {
  if (!process) return [];
  const reason = { name: "reason", label: "Reason" };
  const option = (values) => (values.reason ? `--reason=${values.reason}` : "");
  /** @type {Action[]} */
  const actions = [
    {
      label: "Send",
      title: "Send a message",
      method: "Send",
      fields: [{ name: "topic", label: "Topic" }, { name: "payload", label: "Payload", isLong: true }],
      request: ({ topic, payload }) => ({ pid, topic, payload: payloadOf(payload) }),
      command: ({ topic, payload }) => actorctlWith(payload, ["send", pid], topic ? [`--topic=${topic}`] : []),
      said: () => "The message is in the mailbox.",
    },
    {
      label: "Cancel",
      title: "Ask the process to end",
      method: "Cancel",
      isDangerous: true,
      fields: [reason],
      request: (values) => ({ pid, reason: values.reason }),
      command: (values) => actorctl("cancel", pid, option(values)),
      said: () => "The cancel was requested.",
    },
    {
      label: "Terminate",
      title: "Force the process to end",
      method: "Terminate",
      isDangerous: true,
      fields: [reason],
      request: (values) => ({ pid, reason: values.reason }),
      command: (values) => actorctl("terminate", pid, option(values)),
      said: () => "The process takes no further step.",
    },
  ];
  if (process.durability !== "DURABILITY_DURABLE") actions.push(recordAction(pid, Boolean(recording)));
  if (process.state === "PROCESS_STATE_QUARANTINED") actions.unshift(retryAction(pid));
  return actions;
}

/** @param {string} pid @param {boolean} isRecorded @returns {Action} */
const recordAction = (pid, isRecorded) => ({
  label: isRecorded ? "Stop recording" : "Record",
  title: isRecorded ? "End the recording, and drop its steps" : "Record the last 32 steps",
  method: "RecordProcess",
  request: () => ({ pid, stop: isRecorded }),
  command: () => actorctl("record", pid, isRecorded ? "--stop" : ""),
  said: () => (isRecorded ? "The recording has ended." : "The steps of the process are recorded from now on."),
});

/** @param {string} pid @returns {Action} */
export const retryAction = (pid) => ({
  label: "Retry",
  title: "Try to restart the process in quarantine",
  method: "RetryQuarantine",
  request: () => ({ pid }),
  command: () => actorctl("quarantine", "retry", pid),
  said: (answer) => {
    const [tried] = answer.tried ?? [];
    return tried?.hasLeft ? "The process runs again." : `It stays in quarantine: ${tried?.reason ?? "it was not found"}`;
  },
});

const answered = (answer) => `The answer of the daemon: ${word(answer.answer, "ANSWER_")}.`;

/** @param {any} item a Yield @returns {Action} */
export const completeAction = (item) => ({
  label: "Complete",
  title: "Complete the command with a result",
  method: "CompleteYield",
  fields: [{ name: "result", label: "Result", isLong: true }],
  request: ({ result }) => ({ token: item.token, result: payloadOf(result) }),
  command: ({ result }) => actorctlWith(result, ["complete", item.token]),
  said: answered,
});

/** @param {any} item a Yield @returns {Action} */
export const yieldErrorAction = (item) => ({
  label: "Fail",
  title: "Complete the command with an error",
  method: "CompleteYield",
  isDangerous: true,
  fields: [
    { name: "code", label: "Code", value: "ABORTED", options: ERROR_CODES },
    { name: "message", label: "Message" },
  ],
  request: ({ code, message }) => ({
    token: item.token,
    error: { code: ERROR_CODES.indexOf(code) + 1, message },
  }),
  command: ({ code, message }) =>
    actorctl("complete", item.token, "--error", code, message ? `--message=${message}` : ""),
  said: answered,
});
