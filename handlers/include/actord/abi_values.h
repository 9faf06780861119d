/* actord/abi_values.h: the part of the plugin ABI that processes and handlers
 * share: bytes, PIDs, payloads, status codes, messages. Included by abi.h,
 * whose rules apply here. */
#ifndef ACTORD_ABI_VALUES_H_
#define ACTORD_ABI_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed bytes. `data` may be NULL if and only if `size` is 0. Frozen. */
typedef struct actord_bytes {
  const void* data;
  size_t size; /* bytes */
} actord_bytes;

/* The identity of a process, never reused. All zero means "none". Frozen. */
typedef struct actord_pid {
  uint32_t node;
  uint32_t incarnation;
  uint32_t slot;
  uint32_t generation;
} actord_pid;

/* Bytes with their content type. An empty content type means
 * "application/json". The daemon never parses a payload. Frozen. */
typedef struct actord_payload {
  actord_bytes bytes;
  actord_bytes content_type;
} actord_payload;

/* Status codes, with the numbers of google.rpc.Code. The numbers are frozen.
 * Any other value is read as UNKNOWN. */
enum {
  ACTORD_OK = 0,
  ACTORD_CANCELLED = 1,
  ACTORD_UNKNOWN = 2,
  ACTORD_INVALID_ARGUMENT = 3,
  ACTORD_DEADLINE_EXCEEDED = 4,
  ACTORD_NOT_FOUND = 5,
  ACTORD_ALREADY_EXISTS = 6,
  ACTORD_PERMISSION_DENIED = 7,
  ACTORD_RESOURCE_EXHAUSTED = 8,
  ACTORD_FAILED_PRECONDITION = 9,
  ACTORD_ABORTED = 10,
  ACTORD_OUT_OF_RANGE = 11,
  ACTORD_UNIMPLEMENTED = 12,
  ACTORD_INTERNAL = 13,
  ACTORD_UNAVAILABLE = 14,
  ACTORD_DATA_LOSS = 15,
  ACTORD_UNAUTHENTICATED = 16
};

/* The content type of the error ALREADY_EXISTS that `process.spawn` and
 * `name.register` give for a name that is taken: this text and behind it the
 * text of the PID of the process that holds the name, for `parse_pid`. Older
 * daemons give the type "text/plain". */
#define ACTORD_HOLDER_TYPE "text/plain; holder="

/* A message to a process. */
typedef struct actord_message {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  actord_bytes topic;
  actord_payload payload;
} actord_message;

/* A process to start. */
typedef struct actord_spawn {
  uint32_t struct_size;
  uint32_t flags; /* ACTORD_SPAWN_* */
  actord_bytes process_type;
  actord_bytes method;
  actord_payload input;
  /* ACTORD_PRIORITY_*: the ready process with the highest priority runs first.
   * Read only with ACTORD_SPAWN_PRIORITY. Otherwise the priority is
   * ACTORD_PRIORITY_DEFAULT, independent of the parent's. */
  uint32_t priority;
  uint32_t reserved; /* 0 */
  /* Read only with ACTORD_SPAWN_MONITOR: the call writes the tag of the child's
   * EXIT event here before it returns. May be NULL. */
  uint64_t* monitor_tag;
  /* Read only with ACTORD_SPAWN_NAME: the child's name, registered before its
   * `init` begins (see abi_handler.h for the form of a name). */
  actord_bytes name;
} actord_spawn;

enum {
  /* Keep the child's result for Await, like the result of a process that was
   * submitted from outside. */
  ACTORD_SPAWN_KEEP_RESULT = 1u << 0,
  /* `priority` is set. */
  ACTORD_SPAWN_PRIORITY = 1u << 1,
  /* The child is linked to its parent from the start. */
  ACTORD_SPAWN_LINK = 1u << 2,
  /* The parent monitors the child from the start. A step's `spawn` writes the
   * tag to `monitor_tag`. The host's `spawn` does not: the tag is that of the
   * yield that it completes. */
  ACTORD_SPAWN_MONITOR = 1u << 3,
  /* `name` is set. Only for the host's `spawn`, which can refuse it. A step's
   * `spawn` with a name fails the step. */
  ACTORD_SPAWN_NAME = 1u << 4,
  /* The child of a durable process is volatile, also if its type can be
   * durable: it ends with the daemon. A daemon that is older than this flag
   * ignores it.
   */
  ACTORD_SPAWN_VOLATILE = 1u << 5
};

/* How a process ended: `reason` of ACTORD_EVENT_EXIT. Later versions may add
 * values. */
enum {
  /* It returned DONE: `payload` is its result. */
  ACTORD_EXIT_DONE = 1,
  /* It returned FAIL, or a linked process has failed. */
  ACTORD_EXIT_FAILED = 2,
  /* An exception or a broken rule ended it. */
  ACTORD_EXIT_THREW = 3,
  /* Its `init` refused. */
  ACTORD_EXIT_INIT_REFUSED = 4,
  /* A cancel ended it. */
  ACTORD_EXIT_CANCELLED = 5,
  /* It was terminated. */
  ACTORD_EXIT_TERMINATED = 6,
  /* There was no process when the watch began: it had already ended, or never
   * existed. */
  ACTORD_EXIT_NO_PROCESS = 7,
  /* The other process has reached its limit of links. There is no link, and
   * nothing has ended. */
  ACTORD_EXIT_NO_ROOM = 8,
  /* It was volatile, and ended with the daemon. Only durable processes get this
   * reason, after a restart of the daemon. A link passes it on only to a
   * process that traps exits; for any other process it has no effect. Older
   * plugins read it as a failure. */
  ACTORD_EXIT_RESTARTED = 9
};

enum {
  ACTORD_PRIORITY_LOWEST = 0,
  ACTORD_PRIORITY_DEFAULT = 16,
  ACTORD_PRIORITY_HIGHEST = 31
};

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_VALUES_H_ */
