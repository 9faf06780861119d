/* actord/abi_handler.h: the command handlers' part of the plugin ABI: the
 * daemon as host, calls, completions. Included by abi.h, whose rules apply
 * here. */
#ifndef ACTORD_ABI_HANDLER_H_
#define ACTORD_ABI_HANDLER_H_

#include <actord/abi_values.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The daemon as seen by a plugin. Passed to a handler's `create`; valid until
 * its `destroy` has returned. All functions may be called on any thread. */
typedef struct actord_host actord_host;

enum {
  ACTORD_LOG_DEBUG = 1,
  ACTORD_LOG_INFO = 2,
  ACTORD_LOG_WARNING = 3,
  ACTORD_LOG_ERROR = 4
};

/* Identifies one outstanding command for its completion. A plain value that may
 * be copied and kept. Using it too late or twice returns an error and does no
 * harm. 0 means no completion. */
typedef uint64_t actord_completion;

struct actord_host {
  uint32_t struct_size;
  uint32_t reserved;

  void (*log)(const actord_host* host, int32_t level, actord_bytes message);
  /* Nanoseconds of the daemon's monotonic clock; nanoseconds since the Unix
   * epoch. */
  uint64_t (*monotonic_ns)(const actord_host* host);
  uint64_t (*unix_time_ns)(const actord_host* host);

  /* Completes a deferred command: with a result (ACTORD_OK), or with an error
   * whose text is the payload. The payload may be NULL. Returns ACTORD_OK: this
   * call completed the command. ACTORD_FAILED_PRECONDITION: the command had
   * already ended by another call, its timeout, a cancel or the end of its
   * process; nothing happened. ACTORD_INVALID_ARGUMENT: the payload is too
   * large; ACTORD_RESOURCE_EXHAUSTED: no room for the payload. In the last two
   * cases the command has completed with that error. */
  int32_t (*complete)(const actord_host* host, actord_completion completion,
                      int32_t status, const actord_payload* payload);
  /* Completes the command with ACTORD_OK and an empty payload after `delay_ns`
   * nanoseconds. If the yield's timeout is more than 0.2 ms earlier, the
   * timeout wins. The timeout starts when an inline handler returns, or when
   * the command is handed to the pool. Each call uses one timer at least until
   * the yield has ended; of several timers, the first one due wins. Returns the
   * same codes as `complete`. */
  int32_t (*complete_after)(const actord_host* host,
                            actord_completion completion, uint64_t delay_ns);

  /* Sends a message to a process. ACTORD_OK: it is in the mailbox.
   * ACTORD_NOT_FOUND: no such process. ACTORD_FAILED_PRECONDITION: the process
   * has ended. ACTORD_RESOURCE_EXHAUSTED: its mailbox is full.
   * ACTORD_INVALID_ARGUMENT: the payload is above the daemon's limit. */
  int32_t (*send)(const actord_host* host, const actord_pid* from,
                  const actord_pid* to, const actord_message* message);
  /* Starts a process for `parent`. Completes `completion` when the child's
   * `init` has returned: with the text of the child's PID (text/plain), or with
   * the error that prevented the start.
   *
   * ACTORD_SPAWN_LINK and _MONITOR take effect after a successful `init`,
   * before the child's first step and before the completion, so no exit is
   * missed. They require that `parent` is the process whose command is
   * completed. If the parent has ended, or the command has ended (by its
   * timeout or a cancel), the parent would never learn of the child, so the
   * child is terminated. RESOURCE_EXHAUSTED: the parent has reached its limit
   * of watches; the child is terminated. */
  void (*spawn)(const actord_host* host, const actord_pid* parent,
                const actord_spawn* spawn, actord_completion completion);

  /* Writes the text of a PID, at most 64 bytes without NUL, and returns its
   * length. */
  size_t (*format_pid)(const actord_host* host, const actord_pid* pid,
                       char* text);
  /* Parses the text of a PID. Returns ACTORD_OK or ACTORD_INVALID_ARGUMENT. */
  int32_t (*parse_pid)(const actord_host* host, actord_bytes text,
                       actord_pid* pid);

  /* While the daemon checks tokens, processes have owners, and reach the
   * processes of their own owner alone. The functions of this table act for the
   * process that they are given as the sender, the parent or the member;
   * without one, for the process whose command is being handled on this thread.
   * Elsewhere they act for processes that have no owner. A process of another
   * owner is answered as one that has ended. Names and groups are of one owner.
   *
   * For the functions from here on, check first that `struct_size` covers the
   * function.
   *
   * The names and groups of a durable process change by its own commands alone
   * (name.*, group.*): for it these functions return ACTORD_UNIMPLEMENTED.
   *
   * A name is 1 to 128 of [a-zA-Z0-9_.-/:]. Only one live process at a time can
   * hold a name. The name is free again as soon as that process has ended. */

  /* Gives `pid` the name. ACTORD_OK: `pid` now holds it, or held it before.
   * ACTORD_ALREADY_EXISTS: another process holds it; its PID is stored in
   * `holder`, which may be NULL. ACTORD_INVALID_ARGUMENT: invalid name.
   * ACTORD_FAILED_PRECONDITION: `pid` is not alive. ACTORD_RESOURCE_EXHAUSTED:
   * `pid` holds 64 names. */
  int32_t (*register_name)(const actord_host* host, const actord_pid* pid,
                           actord_bytes name, actord_pid* holder);
  /* Takes the name from `pid`. ACTORD_NOT_FOUND: `pid` does not hold it. */
  int32_t (*release_name)(const actord_host* host, const actord_pid* pid,
                          actord_bytes name);
  /* Stores the holder of the name. ACTORD_NOT_FOUND: no process holds it. */
  int32_t (*look_up_name)(const actord_host* host, actord_bytes name,
                          actord_pid* holder);

  /* A group name has the same form as a process name, in a separate namespace.
   * A group exists from its first member to its last one. */

  /* Adds `pid` to the group. ACTORD_OK: `pid` is now a member, or was one
   * before. ACTORD_INVALID_ARGUMENT: invalid name. ACTORD_FAILED_PRECONDITION:
   * `pid` is not alive. ACTORD_RESOURCE_EXHAUSTED: the group has 4,096 members,
   * or `pid` is in 64 groups. */
  int32_t (*join_group)(const actord_host* host, const actord_pid* pid,
                        actord_bytes group);
  /* Removes `pid` from the group. ACTORD_NOT_FOUND: `pid` is not a member. */
  int32_t (*leave_group)(const actord_host* host, const actord_pid* pid,
                         actord_bytes group);
  /* Stores up to `capacity` members, ordered by PID, and returns how many
   * members there are. */
  size_t (*group_members)(const actord_host* host, actord_bytes group,
                          actord_pid* members, size_t capacity);

  /* Asks a process to end. Its CANCEL event has `reason` as its text; at most
   * 1,024 bytes are kept. ACTORD_OK: the process will get the cancel; a
   * repeated cancel changes nothing. ACTORD_NOT_FOUND: there never was such a
   * process. ACTORD_FAILED_PRECONDITION: it has ended.
   * ACTORD_RESOURCE_EXHAUSTED: the process has not run, and 15,000 cancels are
   * already queued for it. */
  int32_t (*cancel)(const actord_host* host, const actord_pid* pid,
                    actord_bytes reason);
  /* Ends a process, after its current step if it is in one. Returns the same
   * codes as `cancel`. */
  int32_t (*terminate)(const actord_host* host, const actord_pid* pid,
                       actord_bytes reason);

  /* Writes a line that begins with the process: its PID, and while it lives its
   * type and name. A message above 15 KiB is cut. */
  void (*log_for)(const actord_host* host, int32_t level, const actord_pid* pid,
                  actord_bytes message);
};

/* One command being handled. Valid only during the call to `handle` and on its
 * thread. */
typedef struct actord_call actord_call;

typedef struct actord_call_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* For a `handle` that returns ACTORD_HANDLED: sets the result, or an error
   * whose text is the payload. Copied. The last call counts. Without a call the
   * result is empty. The payload may be NULL. */
  void (*reply)(actord_call* call, int32_t status,
                const actord_payload* payload);
  /* For a `handle` that will return ACTORD_DEFERRED: returns the value that
   * completes the command later. The completion may come on any thread, also
   * before `handle` returns. Copy the payload of the call if it is needed
   * later. */
  actord_completion (*defer)(actord_call* call);
} actord_call_api;

struct actord_call {
  const actord_call_api* api;
  /* The process that yielded. */
  actord_pid from;
  /* (from, tag) is never reused: a key for idempotent work. */
  uint64_t tag;
  actord_bytes command;
  actord_payload payload;
  /* The daemon's own fields follow. */
};

enum {
  /* Done: the reply is the one passed to `reply`. */
  ACTORD_HANDLED = 0,
  /* `defer` was called; the completion follows later. */
  ACTORD_DEFERRED = 1
};

enum {
  /* Runs on the worker: microseconds, must not block. */
  ACTORD_HANDLER_INLINE = 0,
  /* Runs on the blocking pool. */
  ACTORD_HANDLER_POOLED = 1
};

/* What a handler promises about commands of durable processes; bits of
 * `flags`. Other bits are ignored. The handler in force at the restart decides
 * about a command, also if an older version began it. */
enum {
  /* Handling a command twice has the effect of handling it once: the handler
   * uses (from, tag) as a key. If the daemon ends before the handler has
   * answered, the command is handled again after the restart. Without this flag
   * it completes with ABORTED, since nobody knows how far the handler came. */
  ACTORD_HANDLER_FLAG_IDEMPOTENT = 1u << 0,
  /* Handling a command has no effect but the answer. An inline handler answers
   * within the turn, before the step is on the disk. Implies the flag above. */
  ACTORD_HANDLER_FLAG_PURE = 1u << 1
};

/* A command handler. Static data of the plugin, constant for as long as the
 * plugin is loaded. */
typedef struct actord_command_handler {
  uint32_t struct_size;
  uint32_t mode;       /* ACTORD_HANDLER_* */
  const char* command; /* 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon */
  const char* doc;     /* one line for people; may be NULL */
  /* Creates the handler's own state; called once, at load. A return other than
   * ACTORD_OK refuses the plugin. May be NULL: `self` is then NULL. */
  int32_t (*create)(const actord_host* host, void** self);
  /* Releases the state; called once, after the last call of `handle` has
   * returned. May be NULL. */
  void (*destroy)(void* self);
  /* Handles one command. Called on many threads at the same time. Returns
   * ACTORD_HANDLED or ACTORD_DEFERRED. Any other value completes the command
   * with ACTORD_INTERNAL. */
  int32_t (*handle)(void* self, actord_call* call);
  uint32_t flags; /* ACTORD_HANDLER_FLAG_*; an older daemon ignores them */
  uint32_t reserved;
} actord_command_handler;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_HANDLER_H_ */
