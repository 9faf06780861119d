/* actord/abi.h: the binary interface between the actord daemon and its plugins.
 *
 * Plain C11, also valid C++. A plugin is a shared object that exports ONE data
 * symbol, `actord_plugin` (see ACTORD_PLUGIN_SYMBOL), which lists the process
 * types and the command handlers in it. The daemon checks its magic, ABI
 * version and sizes before it runs any function of the plugin.
 *
 * Rules that hold for the whole file:
 *  - No C++ type, exception or protobuf message crosses this interface. A
 * function of a plugin must not let an exception out; if one escapes all the
 * same, the daemon fails that process or command, not itself.
 *  - Growth: a struct that begins with `struct_size` may grow at its end in
 * later versions. Whoever fills it stores `sizeof` as it knew it; whoever reads
 * it reads only what that size covers. Arrays of such structs are arrays of
 * pointers. Structs marked "Frozen" never change.
 *  - Ownership: the side that allocates frees. Every pointer passed into a call
 * is borrowed for that call only, unless its comment says otherwise; what has
 * to live longer is copied.
 *  - Text is UTF-8. Text in descriptors is NUL-terminated; text and payloads at
 * run time are actord_bytes, which need no NUL.
 *  - Thread-safety: functions of one process never run at the same time as
 * others of that process, but may run on different threads one after the other
 * (with a happens-before between them).
 */
#ifndef ACTORD_ABI_H_
#define ACTORD_ABI_H_

#include <actord/abi_handler.h>
#include <actord/abi_values.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACTORD_ABI_MAGIC \
  0x44524f5443413031ull /* "10ACTORD" in little-endian memory */
#define ACTORD_ABI_VERSION 1u

/* The one symbol that a plugin exports: `const actord_plugin_info
 * actord_plugin`. */
#define ACTORD_PLUGIN_SYMBOL "actord_plugin"

/* Put before the definition of the symbol; everything else in a plugin should
 * have hidden visibility. */
#if defined(__GNUC__)
#define ACTORD_EXPORT __attribute__((visibility("default")))
#else
#define ACTORD_EXPORT
#endif

/* ---------------------------------------------------------------------------------------------------------
 * Events
 */

enum {
  ACTORD_EVENT_COMPLETION =
      1, /* a yield of this process ended: `tag`, `status`, `payload` */
  ACTORD_EVENT_MESSAGE = 2, /* somebody sent: `from`, `topic`, `payload`;
                               `call` if an answer is expected */
  ACTORD_EVENT_CANCEL =
      3, /* the process is asked to end: `payload` is the reason as text */
  ACTORD_EVENT_EXIT =
      4 /* a watched process has ended: `from`, `tag`, `reason`, `status`,
           `payload`. Comes after everything that `from` has sent to this
           process; waits, as messages do, while the process blocks. */
};

/* One event. Owned by the daemon, constant, valid until the step that received
 * it returns. Later versions may append fields; events are always handed over
 * as pointers. A type that the plugin does not know is to be ignored. */
typedef struct actord_event {
  uint32_t type;   /* ACTORD_EVENT_* */
  int32_t status;  /* COMPLETION: ACTORD_OK, or why the command failed. EXIT:
                      ACTORD_OK with ACTORD_EXIT_DONE, otherwise the failure's
                      code. Otherwise ACTORD_OK */
  uint64_t tag;    /* COMPLETION: the tag that `yield` or `call` returned. EXIT:
                      the one of `monitor`, or 0 for a link. Otherwise 0 */
  actord_pid from; /* MESSAGE: the sending process, or all zero when it came
                      from outside. EXIT: who has ended */
  actord_bytes topic; /* MESSAGE: what kind of message it is; may be empty */
  actord_payload
      payload; /* result or message; if `status` is not OK: the error's text */
  /* MESSAGE: 0, or the sender waits for an answer: what to give to `reply`.
   * EXIT and all others: 0. */
  uint64_t call;
  uint32_t reason;   /* EXIT: ACTORD_EXIT_*; otherwise 0 */
  uint32_t reserved; /* 0 */
} actord_event;

/* ---------------------------------------------------------------------------------------------------------
 * Process types
 */

/* How one external command is handed to remote workers, where that is to be
 * otherwise than the daemon's `commands.policies` say. A field that is 0 is as
 * they say. Times are nanoseconds; one that is out of its range completes the
 * yield with INVALID_ARGUMENT. Handlers in the daemon take no notice of it. */
typedef struct actord_work_policy {
  uint32_t struct_size;
  uint32_t max_attempts;       /* handed out so often at most: 1 to 1,000,000 */
  uint64_t lease_ns;           /* how long a worker has it without a sign of
                                  life: 10 ms to 30 days */
  uint64_t attempt_timeout_ns; /* how long an attempt may last: 10 ms or more */
  uint64_t start_timeout_ns;   /* how long it may wait for a worker each time,
                                  or it completes with DEADLINE_EXCEEDED: 10 ms
                                  or more */
  uint64_t backoff_ns;         /* the pause after the first attempt that failed,
                                  which doubles each time: up to 30 days; 1:
                                  none */
  uint64_t max_backoff_ns;     /* up to this: up to 30 days */
} actord_work_policy;

/* A command to hand out. */
typedef struct actord_yield {
  uint32_t struct_size;
  uint32_t reserved;   /* 0 */
  uint64_t timeout_ns; /* nanoseconds until it completes with DEADLINE_EXCEEDED;
                          0: the daemon's default; 2^63 - 1 or more: none */
  actord_bytes command;
  actord_payload payload;
  /* Came later. NULL: as the daemon's configuration says. A daemon that does
   * not know it takes no notice. */
  const actord_work_policy* policy;
} actord_yield;

/* A message that wants an answer. */
typedef struct actord_request {
  uint32_t struct_size;
  uint32_t reserved;   /* 0 */
  uint64_t timeout_ns; /* as in actord_yield */
  actord_pid to;       /* all zero: whoever holds `name` */
  actord_bytes name;
  actord_bytes topic;
  actord_payload payload;
} actord_request;

/* What `step` returns: what the process waits for. */
enum {
  ACTORD_STEP_IDLE = 0, /* wait for any event */
  ACTORD_STEP_BLOCK =
      1, /* wait for a completion (or a cancel); messages stay in the mailbox
            meanwhile. Without an outstanding yield nothing could end the wait:
            the process fails. */
  ACTORD_STEP_CONTINUE = 2, /* run again after the others that are ready */
  ACTORD_STEP_DONE =
      3, /* ended well; the result is what `set_result` was given, or empty */
  ACTORD_STEP_FAIL = 4, /* failed; `set_failure` said why. With CANCELLED after
                           a cancel it counts as cancelled. */
  ACTORD_STEP_THREW =
      5 /* failed by an exception or the like, not by decision; `set_failure`
           said what. Any other value is a broken rule and ends the same way. */
};

/* The context of one call to `init` or `step`. Valid during that call and on
 * its thread only. */
typedef struct actord_step actord_step;

/* What a process can do during a call. A step is a transaction: sends, spawns,
 * yields, and all other effects, take effect together and in order after `step`
 * has returned IDLE, BLOCK, CONTINUE or DONE; if it fails, none does. `init`,
 * `snapshot` and `restore` may call the reading functions and `set_failure`; an
 * effect during one of them makes it fail. The functions behind `parse_pid`
 * came later: whoever calls one looks first whether `struct_size` covers it. */
typedef struct actord_step_api {
  uint32_t struct_size;
  uint32_t reserved;

  actord_pid (*self)(const actord_step* step);
  /* The process that spawned this one; all zero when it was submitted from
   * outside. */
  actord_pid (*parent)(const actord_step* step);
  /* Nanoseconds since the Unix epoch. Stands still during one call. A process
   * must not ask the system. */
  uint64_t (*unix_time_ns)(actord_step* step);
  /* 64 uniformly random bits. Not for secrets. A process must not ask the
   * system. */
  uint64_t (*random)(actord_step* step);

  /* Hands out a command and returns its tag (never 0). Exactly one COMPLETION
   * event with that tag follows, whatever becomes of the command: unknown
   * commands, limits and timeouts complete it with an error. The one exception
   * is a mistake of the process: as with `send` and `spawn`, a payload above
   * the daemon's limit, or a topic, command or content type above 1,024 bytes,
   * fails the step, and so the process. */
  uint64_t (*yield)(actord_step* step, const actord_yield* yield);
  /* Sends a message. What cannot be delivered becomes a dead letter; the
   * command `process.send` is the variant that answers. */
  void (*send)(actord_step* step, const actord_pid* to,
               const actord_message* message);
  /* Starts a process and returns its PID, which can be sent to at once. An
   * `init` that refuses is the child's end; the command `process.spawn` is the
   * variant that answers. All zero is returned only when the daemon's limit of
   * processes is reached. A priority above 31 fails the step. */
  actord_pid (*spawn)(actord_step* step, const actord_spawn* spawn);

  /* The result for ACTORD_STEP_DONE, and what `snapshot` hands over. Copied.
   * The last call counts. */
  void (*set_result)(actord_step* step, const actord_payload* result);
  /* The reason for ACTORD_STEP_FAIL or _THREW, or for a non-zero return of
   * `init`, `snapshot` or `restore`. Copied. The last call counts. */
  void (*set_failure)(actord_step* step, int32_t status, actord_bytes message);

  /* Text of a PID, for payloads: writes at most 64 bytes without NUL and
   * returns their number. */
  size_t (*format_pid)(const actord_step* step, const actord_pid* pid,
                       char* text);
  /* Reads the text of a PID. ACTORD_OK or ACTORD_INVALID_ARGUMENT. */
  int32_t (*parse_pid)(const actord_step* step, actord_bytes text,
                       actord_pid* pid);

  /* Sends a message that wants an answer and returns its tag. A call is a
   * yield: exactly one COMPLETION with that tag follows, with what the other
   * process replied, or with an error: DEADLINE_EXCEEDED; NOT_FOUND or
   * FAILED_PRECONDITION: there is no such process or name, or it had ended;
   * RESOURCE_EXHAUSTED: its mailbox is full, or the limit of yields is reached;
   * ABORTED: it ended without a reply. */
  uint64_t (*call)(actord_step* step, const actord_request* request);
  /* Answers a call: `call` of the event. A status other than ACTORD_OK is an
   * error whose text is the payload. Of several answers the first one counts;
   * what comes after it, or after the caller's timeout or end, is dropped and
   * counted. A process may answer later than in the step that got the call, and
   * another process may answer for it, as long as it lives. The payload may be
   * NULL. */
  void (*reply)(actord_step* step, uint64_t call, int32_t status,
                const actord_payload* payload);

  /* Watches a process and returns a tag. Exactly one EXIT event with that tag
   * follows when it ends, also when it has ended before, unless `demonitor`
   * comes first. At most 100,000 watches (monitors, links, and EXIT events that
   * have not been seen) a process: one more fails the step. */
  uint64_t (*monitor)(actord_step* step, const actord_pid* pid);
  /* Ends a monitor. When the step has returned well, no EXIT of the monitor
   * comes any more, also if the process has ended by then. */
  void (*demonitor)(actord_step* step, uint64_t tag);
  /* Ties two processes: when one of them ends other than by DONE, so does the
   * other, as FAILED with a text that names the linked process, and the process
   * that failed first with up to 512 bytes of why; but if its type says
   * ACTORD_TYPE_TRAPS_EXITS it gets an EXIT event instead, also after DONE. To
   * link twice is to link once; a link to a process that has ended is one that
   * ends at once. Limits: as `monitor`; if the other process has reached them,
   * this one is told (ACTORD_EXIT_NO_ROOM), or fails. */
  void (*link)(actord_step* step, const actord_pid* pid);
  /* Unties them, whoever has linked. When the step has returned well, no end
   * and no EXIT by that link follows any more, also if the other process has
   * failed by then. A link that is made later is a new one. */
  void (*unlink)(actord_step* step, const actord_pid* pid);

  /* Gives a yield or a call of this process up: it completes as CANCELLED,
   * unless it has completed. An external command is taken back. */
  void (*cancel_yield)(actord_step* step, uint64_t tag);
  /* Nanoseconds of the daemon's monotonic clock, which is not set: for
   * durations. Its origin is arbitrary. Stands still during one call. */
  uint64_t (*monotonic_ns)(actord_step* step);
  /* The daemon's `limits.max_payload_bytes`, which may change between calls: a
   * longer payload of a yield, a send, a call, a reply or a spawn fails the
   * step. */
  size_t (*max_payload_bytes)(const actord_step* step);

  /* Within `restore` only: takes over a yield or a call that the former version
   * of the process has made and whose completion no step has seen. ACTORD_OK:
   * that completion will reach this version. ACTORD_NOT_FOUND: no such one is
   * outstanding. ACTORD_FAILED_PRECONDITION: this is no `restore`, and the call
   * fails. Taking one over twice changes nothing. */
  int32_t (*adopt_yield)(actord_step* step, uint64_t tag);
} actord_step_api;

struct actord_step {
  const actord_step_api* api;
  /* What follows belongs to the daemon. */
};

/* What a process is started with. Valid during `init` only. */
typedef struct actord_init {
  uint32_t struct_size;
  uint32_t method; /* index into the methods of the process type */
  actord_payload input;
} actord_init;

/* What a process goes on with in a new version of its type. Valid during
 * `restore` only. */
typedef struct actord_restore {
  uint32_t struct_size;
  uint32_t method; /* that it was started with: index into the methods of the
                      new version, found by its name */
  actord_payload snapshot;   /* what the former version's `snapshot` has said */
  actord_bytes from_version; /* version of the plugin that it comes from */
} actord_restore;

/* A method: one way to start a process type. Frozen. */
typedef struct actord_method {
  const char* name;
  const char* doc; /* one line for people; may be NULL */
} actord_method;

enum {
  /* A cancel reaches `step` as an event, and the process decides when and how
   * it ends. Without this flag a cancel ends the process as CANCELLED, without
   * another step. */
  ACTORD_TYPE_HANDLES_CANCEL = 1u << 0,
  /* Its steps may block their thread (system calls, locks, long computations).
   */
  ACTORD_TYPE_BLOCKS_THREAD = 1u << 1,
  /* The end of a linked process is an EXIT event and does not end this one. */
  ACTORD_TYPE_TRAPS_EXITS = 1u << 2,
  /* It ends the processes that it has spawned, in an order of its own: a drain
   * of the daemon asks it, and not them, to end, as long as it lives. */
  ACTORD_TYPE_STOPS_CHILDREN = 1u << 3
};

/* A process type. Static data of the plugin, constant for as long as the plugin
 * is loaded. */
typedef struct actord_process_type {
  uint32_t struct_size;
  uint32_t flags;    /* ACTORD_TYPE_* */
  const char* name;  /* 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon */
  const char* doc;   /* one line for people; may be NULL */
  size_t state_size; /* bytes that the daemon provides for each process, at most
                        1 MiB */
  size_t state_align;           /* a power of two, at most 64; 0 means 16 */
  const actord_method* methods; /* at least one; the first is the default */
  size_t method_count;

  /* Begins a process in `state`: `state_size` bytes, zeroed, that belong to the
   * process until `close` has returned. Returns ACTORD_OK, or a status code
   * that refuses to start (see `set_failure`); after a refusal no other
   * function is called for that state. Called once, on a worker. */
  int32_t (*init)(void* state, const actord_init* init, actord_step* step);
  /* Takes `count` events, at most 319, oldest first, and returns ACTORD_STEP_*.
   * Called first right after `init`, with the events that are there by then,
   * often none; afterwards only with at least one event or after CONTINUE. If
   * it needs more than a millisecond, say ACTORD_TYPE_BLOCKS_THREAD or continue
   * in pieces. */
  int32_t (*step)(void* state, const actord_event* const* events, size_t count,
                  actord_step* step);
  /* Ends the process: releases what `state` owns. Called exactly once if `init`
   * returned ACTORD_OK, also when the process failed, threw or was terminated.
   */
  void (*close)(void* state);

  /* What follows is there if `struct_size` covers it. Both serve the upgrade of
   * a process that lives, between two of its steps, when a plugin with a new
   * version of the type has been loaded. Each may be NULL: then such a process
   * ends with the version that it has. */

  /* Says, by `set_result`, what the new version goes on with; at most
   * `max_payload_bytes`. Changes nothing: the process may go on in this version
   * afterwards. ACTORD_OK; ACTORD_UNAVAILABLE: not now, to be asked again after
   * the next step; every other status: the process stays with this version (see
   * `set_failure`). */
  int32_t (*snapshot)(const void* state, actord_step* step);
  /* Begins a process in `state`, as `init` does, from what a former version has
   * said. ACTORD_OK: the former version's `close` follows, and `step` is called
   * at once, with the events that are there, often none; with no messages, if
   * the former version had blocked. Every other status: the process stays with
   * the former version (see `set_failure`), and no other function is called for
   * `state`. Yields and calls of the former version are cancelled, and none of
   * their completions comes here, unless `adopt_yield` takes them over.
   * Monitors, links, names, groups, calls that wait for a reply, and what is in
   * the mailbox, are the process's, and stay. */
  int32_t (*restore)(void* state, const actord_restore* restore,
                     actord_step* step);
} actord_process_type;

/* ---------------------------------------------------------------------------------------------------------
 * The plugin
 */

typedef struct actord_plugin_info {
  uint64_t magic;       /* ACTORD_ABI_MAGIC */
  uint32_t abi_version; /* ACTORD_ABI_VERSION */
  uint32_t struct_size;
  const char* name;    /* 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon */
  const char* version; /* the plugin's own, for people */
  const actord_process_type* const* process_types;
  size_t process_type_count;
  const actord_command_handler* const* commands;
  size_t command_count;
} actord_plugin_info;

/* Defined by the plugin. This declaration makes it visible. */
extern ACTORD_EXPORT const actord_plugin_info actord_plugin;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_H_ */
