/* actord/abi_handler.h: the part of the plugin ABI that command handlers see:
 * the daemon as their host, calls, completions. Included by abi.h, whose rules
 * hold here.
 */
#ifndef ACTORD_ABI_HANDLER_H_
#define ACTORD_ABI_HANDLER_H_

#include <actord/abi_values.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plugin sees of the daemon. Given to `create` of a handler and valid
 * until its `destroy` returned. All functions may be called on any thread. */
typedef struct actord_host actord_host;

enum {
  ACTORD_LOG_DEBUG = 1,
  ACTORD_LOG_INFO = 2,
  ACTORD_LOG_WARNING = 3,
  ACTORD_LOG_ERROR = 4
};

/* Names one outstanding command for its completion. A plain value: it may be
 * copied and kept, and using it too late or twice is answered, never harmful. 0
 * is no completion. */
typedef uint64_t actord_completion;

struct actord_host {
  uint32_t struct_size;
  uint32_t reserved;

  void (*log)(const actord_host* host, int32_t level, actord_bytes message);
  /* Nanoseconds of the daemon's monotonic clock, and since the Unix epoch. */
  uint64_t (*monotonic_ns)(const actord_host* host);
  uint64_t (*unix_time_ns)(const actord_host* host);

  /* Completes a deferred command: with a result (ACTORD_OK), or with an error
   * whose text is the payload. ACTORD_OK: this call completed it.
   * ACTORD_FAILED_PRECONDITION: it had ended before, by another call, its
   * timeout, a cancel or the end of its process; nothing happened.
   * ACTORD_INVALID_ARGUMENT: the payload is too large; _RESOURCE_EXHAUSTED: no
   * room for it; completed with that error. The payload may be NULL. */
  int32_t (*complete)(const actord_host* host, actord_completion completion,
                      int32_t status, const actord_payload* payload);
  /* Completes it with ACTORD_OK and an empty payload after `delay_ns`
   * nanoseconds. A timeout of the yield that ends more than 0.2 ms before that
   * comes first; it counts from when an inline handler has returned, or from
   * when the command was handed to the pool. Each call takes a timer at least
   * until the yield has ended; of several, the first that is due counts.
   * Returns as `complete`. */
  int32_t (*complete_after)(const actord_host* host,
                            actord_completion completion, uint64_t delay_ns);

  /* Sends to a process. ACTORD_OK: it is in the mailbox. ACTORD_NOT_FOUND: no
   * such process. ACTORD_FAILED_PRECONDITION: it has ended.
   * ACTORD_RESOURCE_EXHAUSTED: its mailbox is full. ACTORD_INVALID_ARGUMENT:
   * the payload is larger than the daemon's limit. */
  int32_t (*send)(const actord_host* host, const actord_pid* from,
                  const actord_pid* to, const actord_message* message);
  /* Starts a process for `parent` and completes `completion` with the text of
   * its PID (text/plain) when its `init` has returned, or with the reason why
   * there is none.
   *
   * ACTORD_SPAWN_LINK and _MONITOR begin when `init` has returned well, before
   * the child's first step and before the completion, so that no end of either
   * is missed; `parent` must be the process whose command is completed. A child
   * whose parent will never hear of it, as that has ended or the command has
   * (by its timeout, or given up), is terminated. RESOURCE_EXHAUSTED: the
   * parent has as many watches as it may; the child is terminated. */
  void (*spawn)(const actord_host* host, const actord_pid* parent,
                const actord_spawn* spawn, actord_completion completion);

  /* Text of a PID: writes at most 64 bytes without NUL and returns their
   * number. */
  size_t (*format_pid)(const actord_host* host, const actord_pid* pid,
                       char* text);
  /* Reads the text of a PID. ACTORD_OK or ACTORD_INVALID_ARGUMENT. */
  int32_t (*parse_pid)(const actord_host* host, actord_bytes text,
                       actord_pid* pid);

  /* The functions from here on came later: whoever calls one looks first
   * whether `struct_size` covers it.
   *
   * A name is 1 to 128 of [a-zA-Z0-9_.-/:]. It is held by one live process at a
   * time, and free again as soon as that has ended. */

  /* Gives `pid` the name. ACTORD_OK: it holds it now, or did so before.
   * ACTORD_ALREADY_EXISTS: another one holds it, which is stored in `holder`.
   * ACTORD_INVALID_ARGUMENT: that is no name. ACTORD_FAILED_PRECONDITION: `pid`
   * does not live. ACTORD_RESOURCE_EXHAUSTED: it holds 64 names. `holder` may
   * be NULL. */
  int32_t (*register_name)(const actord_host* host, const actord_pid* pid,
                           actord_bytes name, actord_pid* holder);
  /* Takes the name from `pid`. ACTORD_NOT_FOUND: it does not hold it. */
  int32_t (*release_name)(const actord_host* host, const actord_pid* pid,
                          actord_bytes name);
  /* Stores who holds the name. ACTORD_NOT_FOUND: nobody. */
  int32_t (*look_up_name)(const actord_host* host, actord_bytes name,
                          actord_pid* holder);

  /* A group is named like a process, in a space of its own. It begins with its
   * first member and ends with its last one. */

  /* ACTORD_OK: `pid` is a member now, or was one before.
   * ACTORD_INVALID_ARGUMENT: that is no name. ACTORD_FAILED_PRECONDITION: `pid`
   * does not live. ACTORD_RESOURCE_EXHAUSTED: the group has 4,096 members, or
   * `pid` is in 64 groups. */
  int32_t (*join_group)(const actord_host* host, const actord_pid* pid,
                        actord_bytes group);
  /* ACTORD_NOT_FOUND: it is no member. */
  int32_t (*leave_group)(const actord_host* host, const actord_pid* pid,
                         actord_bytes group);
  /* Stores up to `capacity` members, in the order of their PIDs, and returns
   * how many there are. */
  size_t (*group_members)(const actord_host* host, actord_bytes group,
                          actord_pid* members, size_t capacity);

  /* Asks a process to end; its CANCEL event has `reason` as its text, of which
   * at most 1,024 bytes are kept. ACTORD_OK: it will see that. To ask again
   * changes nothing. ACTORD_NOT_FOUND: there never was such a process.
   * ACTORD_FAILED_PRECONDITION: it has ended. ACTORD_RESOURCE_EXHAUSTED: 15,000
   * cancels wait for a process that does not come to its turn. */
  int32_t (*cancel)(const actord_host* host, const actord_pid* pid,
                    actord_bytes reason);
  /* Ends a process, at the end of the step that it is in. Returns as `cancel`.
   */
  int32_t (*terminate)(const actord_host* host, const actord_pid* pid,
                       actord_bytes reason);
};

/* One command being handled. Valid during the call to `handle` and on its
 * thread only. */
typedef struct actord_call actord_call;

typedef struct actord_call_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* The result, or an error whose text is the payload, for a `handle` that
   * returns ACTORD_HANDLED. Copied. The last call counts; without one the
   * result is empty. Payload may be NULL. */
  void (*reply)(actord_call* call, int32_t status,
                const actord_payload* payload);
  /* For a `handle` that will return ACTORD_DEFERRED: the value with which to
   * complete the command later, on any thread, also before `handle` returns.
   * The payload of the call must be copied if it is still needed. */
  actord_completion (*defer)(actord_call* call);
} actord_call_api;

struct actord_call {
  const actord_call_api* api;
  actord_pid from; /* the process that yielded */
  uint64_t tag; /* (from, tag) is unique for ever: a key for idempotent work */
  actord_bytes command;
  actord_payload payload;
  /* What follows belongs to the daemon. */
};

enum {
  ACTORD_HANDLED = 0, /* done; the reply is what `reply` was given */
  ACTORD_DEFERRED = 1 /* `defer` was called; the completion follows */
};

enum {
  ACTORD_HANDLER_INLINE =
      0,                    /* runs on the worker: microseconds, never blocks */
  ACTORD_HANDLER_POOLED = 1 /* runs on the blocking pool */
};

/* A command handler. Static data of the plugin, constant for as long as the
 * plugin is loaded. */
typedef struct actord_command_handler {
  uint32_t struct_size;
  uint32_t mode;       /* ACTORD_HANDLER_* */
  const char* command; /* 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon */
  const char* doc;     /* one line for people; may be NULL */
  /* Makes the handler's own state; called once at load. A return other than
   * ACTORD_OK refuses the plugin. May be NULL: then `self` is NULL. */
  int32_t (*create)(const actord_host* host, void** self);
  /* Releases it; called once, when no call is running or will be. May be NULL.
   */
  void (*destroy)(void* self);
  /* Carries out one command. Called on many threads at the same time. Returns
   * ACTORD_HANDLED or ACTORD_DEFERRED; anything else completes the command with
   * ACTORD_INTERNAL. */
  int32_t (*handle)(void* self, actord_call* call);
} actord_command_handler;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_HANDLER_H_ */
