/* actord/abi_durable.h: the part of the plugin ABI that says how processes of a
 * type can be durable. Included by abi.h, whose rules apply here.
 *
 * A durable process survives the end of the daemon: after a restart it has the
 * same PID, state, mailbox, yields and ties, as after its last completed step.
 * A volatile process ends with the daemon. A type only declares how its
 * processes can be durable. Whether a process is durable is decided when it
 * starts, and a daemon without a store runs every process as volatile. Nothing
 * in this file changes the life of a volatile process.
 *
 * The functions that the daemon calls for a durable process, besides `init`,
 * `step` and `close`:
 *
 * - ACTORD_DURABILITY_IMAGE without a flat state: `snapshot` after `init` and
 *   after each step that did not end the process, before any effect of the step
 *   can be seen. A status other than ACTORD_OK (also ACTORD_UNAVAILABLE), an
 *   exception, a broken rule, or an image above the daemon's limit fails the
 *   step, and with it the process. At recovery: `restore` with
 *   ACTORD_RESTORE_RECOVERY.
 * - ACTORD_DURABILITY_IMAGE with a flat state: nothing. The daemon copies the
 *   first `flat_size` bytes of `state` after `init` and after each such step.
 *   At recovery it copies them into zeroed bytes of a new `state`, which may
 *   have another address. It calls `restore`, with the bytes as the snapshot,
 *   only if `flat_version` differs.
 * - ACTORD_DURABILITY_REPLAY: nothing during the life. At recovery: `init`, and
 *   then each step again, with the recorded events, time, random numbers and
 *   PIDs of children, in a new `state`. The effects are compared with the
 *   recorded effects and then dropped. A process that has begun again
 *   (`continue_as`) is replayed from its newest `init` on. If the type has
 * `snapshot` and `restore`, the daemon may ask for a snapshot after any step,
 * and recover from it; ACTORD_UNAVAILABLE then means: later.
 *
 * `close` is called when a durable process ends, when it leaves memory, and
 * after an upgrade. It is not called at a crash of the daemon, so nothing that
 * must survive may depend on it. */
#ifndef ACTORD_ABI_DURABLE_H_
#define ACTORD_ABI_DURABLE_H_

#include <actord/abi_values.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `durability` of actord_process_type: one of these. The daemon refuses to load
 * a type with any other value. */
enum {
  /* Processes of the type are always volatile. */
  ACTORD_DURABILITY_NONE = 0,
  /* The daemon keeps an image of the state after each step. The author promises
   * that the image is the whole state: a process that is restored from it does
   * the same as one that never stopped. Steps need not be deterministic. The
   * type has a flat state, or `snapshot` and `restore`. */
  ACTORD_DURABILITY_IMAGE = 1,
  /* The daemon keeps the inputs of each step. The author promises that a step
   * depends on nothing but the state, the events and the functions of
   * actord_step_api: not on clocks, random sources, addresses, files, statics,
   * threads, or the order of an unordered container. No such type has a flat
   * state. */
  ACTORD_DURABILITY_REPLAY = 2
};

enum {
  /* The largest flat state, in bytes. A flat state holds no pointer, and
   * nothing else that has a meaning only in this run of the daemon. */
  ACTORD_FLAT_MAX_BYTES = 64
};

/* `reason` of actord_restore. Later versions may add values. */
enum {
  /* A new version of the type continues a live volatile process, as described
   * at `restore`. */
  ACTORD_RESTORE_UPGRADE = 0,
  /* The daemon continues a durable process after a restart, or in another
   * version of its type while it runs. All yields, calls,
   * monitors and links of the process stay, whether or not `restore` adopts a
   * yield; `adopt_yield` returns ACTORD_OK for each outstanding tag. `step` is
   * not called before an event arrives, unless the last step returned
   * ACTORD_STEP_CONTINUE, or events had arrived before the restart. The same
   * image may be restored more than once, in one run of the daemon or in
   * several. A status other than ACTORD_OK does not end the process: the daemon
   * keeps its state and its mailbox, and does not run it. */
  ACTORD_RESTORE_RECOVERY = 1
};

/* The start of a process from the image of an earlier state. Valid only during
 * `restore`. For the fields after `from_version`, check first that
 * `struct_size` covers the field; without them the reason is
 * ACTORD_RESTORE_UPGRADE. */
typedef struct actord_restore {
  uint32_t struct_size;
  /* The method that the process was started with: index into the methods of the
   * new version, found by name. */
  uint32_t method;
  /* The result of the former version's `snapshot`; or the bytes of a flat
   * state, with the content type application/octet-stream. */
  actord_payload snapshot;
  /* Version of the plugin that the snapshot comes from. */
  actord_bytes from_version;
  uint32_t reason; /* ACTORD_RESTORE_* */
  /* The `flat_version` of the type whose flat state is in `snapshot`; 0: the
   * snapshot is a result of `snapshot`. */
  uint32_t from_flat_version;
} actord_restore;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ACTORD_ABI_DURABLE_H_ */
