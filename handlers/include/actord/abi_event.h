/* actord/abi_event.h: the part of the plugin ABI that describes events.
 * Included by abi.h, whose rules apply here. */
#ifndef ACTORD_ABI_EVENT_H_
#define ACTORD_ABI_EVENT_H_

#include <actord/abi_values.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /* A yield or call of this process ended: `tag`, `status`, `payload`. */
  ACTORD_EVENT_COMPLETION = 1,
  /* A message arrived: `from`, `topic`, `payload`. `call` is set if the sender
   * expects an answer. */
  ACTORD_EVENT_MESSAGE = 2,
  /* A request to end the process: `payload` is the reason as text. */
  ACTORD_EVENT_CANCEL = 3,
  /* A monitored or linked process has ended: `from`, `tag`, `reason`, `status`,
   * `payload`. Arrives after every message from that process to this one. Like
   * a message, it stays in the mailbox while the process blocks. */
  ACTORD_EVENT_EXIT = 4
};

/* One event. Owned by the daemon, constant, valid until the step that received
 * it returns. Later versions may append fields, so events are always passed as
 * pointers. Ignore unknown event types. */
typedef struct actord_event {
  uint32_t type; /* ACTORD_EVENT_* */
  /* COMPLETION: ACTORD_OK, or why the command failed. EXIT: ACTORD_OK with
   * ACTORD_EXIT_DONE, otherwise the failure's code. All others: ACTORD_OK. */
  int32_t status;
  /* COMPLETION: the tag that `yield` or `call` returned. EXIT: the tag that
   * `monitor` returned, or 0 for a link. All others: 0. */
  uint64_t tag;
  /* MESSAGE: the sending process, or all zero if sent from outside. EXIT: the
   * process that has ended. */
  actord_pid from;
  /* MESSAGE: what kind of message it is; may be empty. */
  actord_bytes topic;
  /* The result or message. If `status` is not ACTORD_OK: the error's text. */
  actord_payload payload;
  /* MESSAGE: the value for `reply`; 0: no answer is expected. All others: 0. */
  uint64_t call;
  uint32_t reason;   /* EXIT: ACTORD_EXIT_*; otherwise 0 */
  uint32_t reserved; /* 0 */
} actord_event;

/* The next life of a process: the argument of `continue_as`. */
typedef struct actord_continuation {
  uint32_t struct_size;
  /* Number of events at `unseen`. */
  uint32_t unseen_count;
  /* A method of the process type. Empty: the method stays the same. */
  actord_bytes method;
  /* The input of the next `init`. */
  actord_payload input;
  /* Events that steps have got and that the process has not handled, oldest
   * first. The steps after `init` get the messages and exits among them again,
   * before all other messages and exits. The first step gets as many as a step
   * can get; the other ones are in the mailbox, and count there. Other events
   * belong to the former life. A message keeps its sender and its `call`. A
   * topic above 1,024 bytes fails the step. May be NULL if there are none. */
  const actord_event* const* unseen;
} actord_continuation;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_EVENT_H_ */
