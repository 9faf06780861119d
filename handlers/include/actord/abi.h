/* actord/abi.h: the binary interface between the actord daemon and its plugins.
 *
 * Plain C11, also valid C++. A plugin is a shared object that exports ONE data
 * symbol, `actord_plugin` (see ACTORD_PLUGIN_SYMBOL). The symbol lists the
 * plugin's process types and command handlers. The daemon checks its magic, ABI
 * version and sizes before it runs any function of the plugin.
 *
 * Rules for the whole file:
 * - No C++ type, exception or protobuf message crosses this interface. A plugin
 *   function must not let an exception out. If one escapes anyway, the daemon
 *   fails the process or command in question and keeps running.
 * - Growth: a struct that begins with `struct_size` may grow at its end in
 *   later versions. The writer stores the `sizeof` that it was compiled with.
 *   The reader reads only fields that `struct_size` covers. Arrays of such
 *   structs are arrays of pointers. Structs marked "Frozen" never change.
 * - Ownership: the side that allocates frees. Every pointer passed into a call
 *   is borrowed for that call only, unless its comment says otherwise. Copy
 *   data that must live longer.
 * - Text is UTF-8: NUL-terminated in descriptors, actord_bytes at run time.
 * - Thread-safety: functions of one process never run at the same time as other
 *   functions of that process. They may run on different threads one after the
 *   other, with a happens-before between them. */
#ifndef ACTORD_ABI_H_
#define ACTORD_ABI_H_

#include <actord/abi_durable.h>
#include <actord/abi_event.h>
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

/* Put this before the definition of the symbol. Everything else in a plugin
 * should have hidden visibility. */
#if defined(__GNUC__)
#define ACTORD_EXPORT __attribute__((visibility("default")))
#else
#define ACTORD_EXPORT
#endif

/* Process types */

/* Overrides the daemon's `commands.policies` for one external command. A field
 * that is 0 keeps the daemon's value. Times are nanoseconds. A value out of
 * range completes the yield with INVALID_ARGUMENT. Handlers in the daemon
 * ignore the policy. */
typedef struct actord_work_policy {
  uint32_t struct_size;
  /* Maximum number of attempts: 1 to 1,000,000. */
  uint32_t max_attempts;
  /* Lease: how long a worker may hold the task without a heartbeat. 10 ms to 30
   * days. */
  uint64_t lease_ns;
  /* Maximum duration of one attempt: 10 ms or more. */
  uint64_t attempt_timeout_ns;
  /* Maximum time in the queue before each attempt; the yield then completes
   * with DEADLINE_EXCEEDED. 10 ms or more. */
  uint64_t start_timeout_ns;
  /* Back-off after the first failed attempt; doubles each time. At most 30
   * days; 1: none. */
  uint64_t backoff_ns;
  /* Maximum back-off: at most 30 days. */
  uint64_t max_backoff_ns;
} actord_work_policy;

/* A command to hand out. */
typedef struct actord_yield {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  /* Nanoseconds until the yield completes with DEADLINE_EXCEEDED. 0: the
   * daemon's default. 2^63 - 1 or more: no timeout. */
  uint64_t timeout_ns;
  actord_bytes command;
  actord_payload payload;
  /* NULL: the daemon's configuration applies. Read only if `struct_size` covers
   * this field. Older daemons ignore it. */
  const actord_work_policy* policy;
} actord_yield;

/* A message that expects an answer. */
typedef struct actord_request {
  uint32_t struct_size;
  uint32_t reserved;   /* 0 */
  uint64_t timeout_ns; /* as in actord_yield */
  /* All zero: send to the holder of `name`. */
  actord_pid to;
  actord_bytes name;
  actord_bytes topic;
  actord_payload payload;
} actord_request;

/* The verdict that `step` returns: what the process does next. */
enum {
  /* Wait for any event. */
  ACTORD_STEP_IDLE = 0,
  /* Wait for a completion or a cancel. Messages stay in the mailbox meanwhile.
   * Without an outstanding yield nothing could end the wait, so the process
   * fails. */
  ACTORD_STEP_BLOCK = 1,
  /* Run again after the other ready processes. */
  ACTORD_STEP_CONTINUE = 2,
  /* End successfully, with the result that `set_result` got, or an empty one.
   */
  ACTORD_STEP_DONE = 3,
  /* End as failed; `set_failure` gave the reason. With CANCELLED after a
   * cancel, the process counts as cancelled. */
  ACTORD_STEP_FAIL = 4,
  /* End as failed by an exception or the like, not by decision; `set_failure`
   * gave the reason. Any other value breaks this rule and ends the process the
   * same way. */
  ACTORD_STEP_THREW = 5,
  /* Begin again, with the arguments of `continue_as` in this step. */
  ACTORD_STEP_CONTINUE_AS = 6
};

/* The context of one call to `init` or `step`. Valid only during that call and
 * on its thread. */
typedef struct actord_step actord_step;

/* The functions that a process may call during a step. A step is a transaction:
 * sends, spawns, yields, and all other effects, take effect together and in
 * order after `step` has returned IDLE, BLOCK, CONTINUE, CONTINUE_AS or DONE.
 * If the step fails, none takes effect. `init`, `snapshot` and `restore` may
 * call only the reading functions and `set_failure`; an effect during one of
 * them makes it fail. For the functions after `parse_pid`, check first that
 * `struct_size` covers the function. */
typedef struct actord_step_api {
  uint32_t struct_size;
  uint32_t reserved;

  actord_pid (*self)(const actord_step* step);
  /* The process that spawned this one. All zero if it was submitted from
   * outside. */
  actord_pid (*parent)(const actord_step* step);
  /* Nanoseconds since the Unix epoch. Constant during one call. Processes must
   * use this and not the system's clock. */
  uint64_t (*unix_time_ns)(actord_step* step);
  /* 64 uniformly random bits. Not for secrets. Processes must use this and not
   * the system's random source. */
  uint64_t (*random)(actord_step* step);

  /* Hands out a command and returns its tag (never 0). Exactly one COMPLETION
   * event with that tag follows: unknown commands, limits and timeouts complete
   * the command with an error. The exception is a mistake of the process: a
   * payload above the daemon's limit, or a topic, command or content type above
   * 1,024 bytes, fails the step and with it the process. `send` and `spawn`
   * have the same rule. */
  uint64_t (*yield)(actord_step* step, const actord_yield* yield);
  /* Sends a message. An undeliverable message becomes a dead letter. Use the
   * command `process.send` to get an error. */
  void (*send)(actord_step* step, const actord_pid* to,
               const actord_message* message);
  /* Starts a process and returns its PID; messages can be sent to it at once.
   * If its `init` refuses, the child ends and the parent is not told. Use the
   * command `process.spawn` to get an error. Returns all zero only at the
   * daemon's limit of processes. A priority above 31 fails the step. */
  actord_pid (*spawn)(actord_step* step, const actord_spawn* spawn);

  /* Sets the result for ACTORD_STEP_DONE, or the snapshot for `snapshot`.
   * Copied. The last call counts. */
  void (*set_result)(actord_step* step, const actord_payload* result);
  /* Sets the reason for ACTORD_STEP_FAIL or _THREW, or for a non-zero return of
   * `init`, `snapshot` or `restore`. Copied. The last call counts. */
  void (*set_failure)(actord_step* step, int32_t status, actord_bytes message);

  /* Writes the text of a PID, at most 64 bytes without NUL, and returns its
   * length. */
  size_t (*format_pid)(const actord_step* step, const actord_pid* pid,
                       char* text);
  /* Parses the text of a PID. Returns ACTORD_OK or ACTORD_INVALID_ARGUMENT. */
  int32_t (*parse_pid)(const actord_step* step, actord_bytes text,
                       actord_pid* pid);

  /* Sends a message that expects an answer and returns a tag. Exactly one
   * COMPLETION with that tag follows: the reply, or an error.
   * DEADLINE_EXCEEDED: the timeout passed. NOT_FOUND or FAILED_PRECONDITION:
   * there is no such process or name, or the process had ended.
   * RESOURCE_EXHAUSTED: the mailbox is full, or the limit of yields is reached.
   * ABORTED: the process ended without a reply. */
  uint64_t (*call)(actord_step* step, const actord_request* request);
  /* Answers a call; `call` is the field of the event. With a status other than
   * ACTORD_OK, the answer is an error and the payload its text. The first
   * answer counts. Later answers, and answers after the caller's timeout or
   * end, are dropped and counted. A process may answer in a later step. Another
   * process may answer in its place, as long as the called process is alive.
   * The payload may be NULL. */
  void (*reply)(actord_step* step, uint64_t call, int32_t status,
                const actord_payload* payload);

  /* Monitors a process and returns a tag. Exactly one EXIT event with that tag
   * follows when the process ends, or at once if it has already ended, unless
   * `demonitor` comes first. Limit: 100,000 watches (monitors, links, and EXIT
   * events not yet seen) for each process; exceeding it fails the step. */
  uint64_t (*monitor)(actord_step* step, const actord_pid* pid);
  /* Ends a monitor. After a successful step no EXIT of the monitor arrives,
   * even if the process has already ended. */
  void (*demonitor)(actord_step* step, uint64_t tag);
  /* Links two processes. If one ends other than by DONE, the other ends as
   * FAILED. Its text names the linked process, and the process that failed
   * first with up to 512 bytes of its reason. A process of a type with
   * ACTORD_TYPE_TRAPS_EXITS gets an EXIT event instead, also after DONE.
   * Linking twice is the same as once. A link to an ended process takes effect
   * at once. Limit: as `monitor`. If the other process has reached it, this one
   * gets an EXIT (ACTORD_EXIT_NO_ROOM), or fails. */
  void (*link)(actord_step* step, const actord_pid* pid);
  /* Removes a link; either process may do so. After a successful step the link
   * has no effect and no EXIT of it arrives, even if the other process has
   * already failed. A later link is a new one. */
  void (*unlink)(actord_step* step, const actord_pid* pid);

  /* Cancels a yield or call of this process: it completes as CANCELLED unless
   * it has already completed. An external command is withdrawn. */
  void (*cancel_yield)(actord_step* step, uint64_t tag);
  /* Nanoseconds of the daemon's monotonic clock, for durations. The clock is
   * never set; its origin is arbitrary. Constant during one call. */
  uint64_t (*monotonic_ns)(actord_step* step);
  /* The daemon's `limits.max_payload_bytes`; may change between calls. A longer
   * payload of a yield, send, call, reply or spawn fails the step. */
  size_t (*max_payload_bytes)(const actord_step* step);

  /* Only in `restore`: takes over a yield or call of the process's former
   * version whose completion no step has seen. ACTORD_OK: that completion will
   * reach this version. ACTORD_NOT_FOUND: none is outstanding with this tag.
   * ACTORD_FAILED_PRECONDITION: not called from `restore`; the call in progress
   * fails. Taking one over twice changes nothing. */
  int32_t (*adopt_yield)(actord_step* step, uint64_t tag);

  /* Sets how the process begins again if this step returns
   * ACTORD_STEP_CONTINUE_AS: `close` is called, then `init` of a new state.
   * `next` is copied. The last call counts. The process keeps its PID,
   * mailbox, names, groups, monitors, links, owner and lifetime. Its yields and
   * calls are cancelled, and no step gets their completions. A call that it has
   * received, has not answered and does not hand on in `unseen` fails with
   * ABORTED. If `init` refuses, the process ends as failed. A process that has
   * seen a cancel does not begin again: it ends as CANCELLED. */
  void (*continue_as)(actord_step* step, const actord_continuation* next);

  /* The trace of the call in progress as a W3C traceparent, for logs and for
   * headers; empty: none. Always empty for durable processes, whose steps may
   * be repeated without it. Valid until the next call of this function, or the
   * end of the call in progress. */
  actord_bytes (*trace_parent)(actord_step* step);

  /* The live process of the same owner that holds the name; a PID of zeros:
   * there is none, or this is not a step. It may end or release the name before
   * a message reaches it. A step of a durable process that asks for about
   * 65,000 names fails. */
  actord_pid (*find_name)(actord_step* step, actord_bytes name);

  /* Publishes a payload under a topic of 1 to 1,024 bytes, for the programs
   * outside that have subscribed to the topic with the rights of this process's
   * owner. Copied. Programs get the publications of one process in order, each
   * at most once. A program that reads too slowly misses some, and is told how
   * many. Without subscribers a publication is dropped. A longer payload than
   * `max_payload_bytes`, or a topic out of range, fails the step. */
  void (*publish)(actord_step* step, const actord_message* publication);

  /* Writes a line into the daemon's log. Copied. The line begins with the PID,
   * the type and the name of the process. Level: ACTORD_LOG_*; the nearest one
   * if it is out of range. A text above 15 KiB is cut. As the other effects it
   * happens when the step has succeeded. */
  void (*log)(actord_step* step, int32_t level, actord_bytes text);
} actord_step_api;

struct actord_step {
  const actord_step_api* api;
  /* The daemon's own fields follow. */
};

/* The start of a process. Valid only during `init`. */
typedef struct actord_init {
  uint32_t struct_size;
  uint32_t method; /* index into the methods of the process type */
  actord_payload input;
} actord_init;

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
  /* `step` may block its thread (system calls, locks, long computations). */
  ACTORD_TYPE_BLOCKS_THREAD = 1u << 1,
  /* The end of a linked process is an EXIT event and does not end this one. */
  ACTORD_TYPE_TRAPS_EXITS = 1u << 2,
  /* The process ends the processes it has spawned itself, in an order of its
   * own. When the daemon drains, it asks only this process to end, not its
   * children, for as long as this process is alive. */
  ACTORD_TYPE_STOPS_CHILDREN = 1u << 3
};

/* A process type. Static data of the plugin, constant for as long as the plugin
 * is loaded. */
typedef struct actord_process_type {
  uint32_t struct_size;
  uint32_t flags;   /* ACTORD_TYPE_* */
  const char* name; /* 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon */
  const char* doc;  /* one line for people; may be NULL */
  /* Bytes that the daemon provides for each process: at most 1 MiB. */
  size_t state_size;
  /* A power of two, at most 64; 0 means 16. */
  size_t state_align;
  /* At least one; the first is the default. */
  const actord_method* methods;
  size_t method_count;

  /* Starts a process in `state`: `state_size` zeroed bytes that belong to the
   * process until `close` has returned. Returns ACTORD_OK, or a status code
   * that refuses to start (see `set_failure`). After a refusal, no other
   * function is called for that state. Called once, on a worker. */
  int32_t (*init)(void* state, const actord_init* init, actord_step* step);
  /* Handles `count` events, at most 319, oldest first, and returns
   * ACTORD_STEP_*. First called right after `init`, with the events that have
   * arrived by then (often none). Later calls have at least one event, or
   * follow a CONTINUE. A step that needs more than a millisecond should set
   * ACTORD_TYPE_BLOCKS_THREAD or split its work with CONTINUE. */
  int32_t (*step)(void* state, const actord_event* const* events, size_t count,
                  actord_step* step);
  /* Ends the process: releases everything `state` owns. Called exactly once if
   * `init` returned ACTORD_OK, also when the process failed, threw or was
   * terminated. */
  void (*close)(void* state);

  /* The fields below exist only if `struct_size` covers them. They upgrade a
   * live process, between two of its steps, after a plugin with a new version
   * of its type was loaded. If either is NULL, processes keep their version
   * until they end. */

  /* Passes the state for the new version to `set_result`; at most
   * `max_payload_bytes`. Must not change the process, which may continue in
   * this version. Returns ACTORD_OK, or ACTORD_UNAVAILABLE to be asked again
   * after the next step. With any other status the process keeps this version
   * (see `set_failure`). */
  int32_t (*snapshot)(const void* state, actord_step* step);
  /* Starts a process in `state`, as `init` does, from the former version's
   * snapshot. ACTORD_OK: the former version's `close` is called, then `step` at
   * once with the events that have arrived (often none); if the former version
   * had blocked, without messages. Any other status: the process keeps the
   * former version (see `set_failure`), and no other function is called for
   * `state`. Yields and calls of the former version are cancelled and their
   * completions dropped, except those that `adopt_yield` takes over. Monitors,
   * links, names, groups, calls to be answered and the mailbox belong to the
   * process and are kept. */
  int32_t (*restore)(void* state, const actord_restore* restore,
                     actord_step* step);

  /* The fields below exist only if `struct_size` covers all of them. They say
   * how a process of the type can survive the daemon (abi_durable.h). Without
   * them the type is ACTORD_DURABILITY_NONE. The daemon refuses to load a type
   * whose fields contradict one another. */
  uint32_t durability; /* ACTORD_DURABILITY_* */
  /* Version of the layout of the flat state: 1 or more; 0: `flat_size` is 0.
   * Raise it with each change of the layout. */
  uint32_t flat_version;
  /* The flat state is the first `flat_size` bytes of `state`: at most
   * ACTORD_FLAT_MAX_BYTES and at most `state_size`. 0: the state is not flat.
   */
  size_t flat_size;
} actord_process_type;

/* The plugin */

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

/* Defined by the plugin. This declaration gives it default visibility. */
extern ACTORD_EXPORT const actord_plugin_info actord_plugin;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_H_ */
