// The keys of the section store.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "daemon/settings/config_key_forms.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kTiB = size_t{1} << 40;

// The files of the store, and the room that they take.
void AddDiskKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"store.directory", "store", "DIR",
              "Directory of the store of durable processes. Only the daemon's "
              "user can read it. The daemon makes it if it does not exist; its "
              "parent must exist. Empty: all processes are volatile, and end "
              "with the daemon."},
             TextCodec{}, ACTORD_MEMBER(store.directory)));
  keys.push_back(
      Single({"store.segment_bytes", "store-segment-bytes", "SIZE",
              "Size of each new file of the journal, from 1MiB to 256MiB, a "
              "multiple of 4KiB. The journal has at least three files."},
             BoundedSizeCodec{{}, kMiB, 256 * kMiB},
             ACTORD_MEMBER(store.segment_bytes)));
  keys.push_back(Single(
      {"store.max_record_bytes", "store-max-record-bytes", "SIZE",
       "Maximum size of one record of the journal, from 4KiB to 128MiB, and at "
       "most half of store.segment_bytes. A message or an input above it is "
       "refused with PAYLOAD_TOO_LARGE, and a step above it fails with "
       "STEP_TOO_LARGE. 0 means 16MiB, or a quarter of store.segment_bytes if "
       "that is less."},
      SizeOrNoneCodec{{{}, 4096, 128 * kMiB}},
      ACTORD_MEMBER(store.max_record_bytes)));
  keys.push_back(
      Single({"store.max_unsynced_bytes", "store-max-unsynced-bytes", "SIZE",
              "Maximum bytes of records that wait for the disk, from 64KiB to "
              "1GiB. Above the limit durable processes take no steps, streams "
              "are read later, and new work for durable processes is refused "
              "with JOURNAL_BEHIND, until half of it is free. The daemon "
              "reserves four times as much memory."},
             BoundedSizeCodec{{}, 64 << 10, 1024 * kMiB},
             ACTORD_MEMBER(store.max_unsynced_bytes)));
  keys.push_back(Single(
      {"store.disk_reserve", "store-disk-reserve", "SIZE",
       "Free room on the disk of the store, up to 1024GiB, below which new "
       "processes and messages from outside are refused with STORE_FULL. "
       "Steps continue, and the journal makes new files until half of this "
       "room is left. 0 means 5 % of the file system, at most 512MiB."},
      SizeOrNoneCodec{{{}, 1, kTiB}}, ACTORD_MEMBER(store.disk_reserve)));
  keys.push_back(Single(
      {"store.checkpoint_bytes", "store-checkpoint-bytes", "SIZE",
       "Growth of the journal after which a checkpoint makes the state store "
       "durable and deletes older files of the journal, from 1MiB to 1024GiB. "
       "A start reads up to about twice as much of the journal."},
      BoundedSizeCodec{{}, kMiB, kTiB}, ACTORD_MEMBER(store.checkpoint_bytes)));
  keys.push_back(Single(
      {"store.checkpoint_interval", "store-checkpoint-interval", "DURATION",
       "Time after which a checkpoint is made if the journal has grown at all, "
       "from 1s to 24h."},
      BoundedDurationCodec{{}, absl::Seconds(1), absl::Hours(24)},
      ACTORD_MEMBER(store.checkpoint_interval)));
}

// The data that the store keeps, and for how long.
void AddKeptKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(Single(
      {"store.result_ttl", "store-result-ttl", "DURATION",
       "How long the store keeps the result of an ended durable process; none "
       "means for ever. Clients can await it as long, also after a restart."},
      kDuration, ACTORD_MEMBER(store.result_ttl)));
  keys.push_back(
      Single({"store.request_id_ttl", "store-request-id-ttl", "DURATION",
              "How long the store remembers the request ID of a Submit of a "
              "durable process, and the message ID of a Send to one, over "
              "restarts."},
             kDuration, ACTORD_MEMBER(store.request_id_ttl)));
  keys.push_back(
      Single({"store.request_id_max", "store-request-id-max", "N",
              "Maximum number of request IDs, and of message IDs, that the "
              "store remembers; the oldest are dropped first. Each takes about "
              "140 bytes of memory."},
             kCount, ACTORD_MEMBER(store.request_id_max)));
  keys.push_back(
      Single({"store.history_retention", "store-history-retention", "DURATION",
              "How long the history of a durable process can be read after its "
              "end, as far as the journal still holds it."},
             kDuration, ACTORD_MEMBER(store.history_retention)));
}

void AddProcessKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"store.max_history", "store-max-history", "SIZE",
              "Maximum size of the events that a process of a replay type has "
              "taken since its last image, from 64KiB to 1024GiB; above it the "
              "process ends with RESOURCE_EXHAUSTED. At a fifth of the limit "
              "the daemon logs a line. 0 means no limit."},
             SizeOrNoneCodec{{{}, 64 << 10, kTiB}},
             ACTORD_MEMBER(runtime.durable.max_history_bytes)));
  keys.push_back(
      Single({"store.max_history_steps", "store-max-history-steps", "N",
              "Maximum number of steps that a process of a replay type has "
              "taken since its last image, up to 1000000000; above it the "
              "process ends with RESOURCE_EXHAUSTED. At a fifth of the limit "
              "the daemon logs a line. 0 means no limit."},
             NumberCodec<uint64_t>{.max = 1'000'000'000},
             ACTORD_MEMBER(runtime.durable.max_history_steps)));
  keys.push_back(
      Single({"store.max_processes", "store-max-processes", "N",
              "Maximum number of durable processes, from 1 to 268435456; "
              "further ones are refused with PROCESS_LIMIT. Restored processes "
              "count, and are restored even above the limit."},
             NumberCodec<uint64_t>{.min = 1, .max = 1 << 28},
             ACTORD_MEMBER(runtime.durable.max_processes)));
  keys.push_back(Single(
      {"store.passivate_after", "store-passivate-after", "DURATION",
       "Idle time after which a durable process that waits for a message or a "
       "timer leaves memory, at least 1s; its next message or its timer brings "
       "it back. Near "
       "limits.max_processes an idle time of 1s is enough. none keeps all "
       "processes in memory, and a start then reads all of them."},
      BoundedDurationCodec{{}, absl::Seconds(1), absl::InfiniteDuration()},
      ACTORD_MEMBER(runtime.durable.passivate_after)));
  keys.push_back(Single(
      {"store.max_crashes", "store-max-crashes", "N",
       "Number of crashes of the daemon in steps of one durable process, up to "
       "1000, after which the next start puts the process into quarantine. A "
       "clean end of the daemon, another version of the plugin, and \"actorctl "
       "quarantine retry\" reset the count. 0 means never."},
      NumberCodec<uint32_t>{.max = 1000}, ACTORD_MEMBER(store.max_crashes)));
  keys.push_back(Single(
      {"store.keep_plugins", "store-keep-plugins", "N",
       "Number of unused plugin files that the store keeps, up to 1000. The "
       "store keeps the file of each loaded plugin with durable types; a start "
       "removes the files whose plugins have no process in the store, except "
       "this many of the newest."},
      NumberCodec<uint32_t>{.max = 1000}, ACTORD_MEMBER(store.keep_plugins)));
}

}  // namespace

void AddStoreKeys(std::vector<ConfigKey>& keys) {
  AddDiskKeys(keys);
  AddKeptKeys(keys);
  AddProcessKeys(keys);
}

}  // namespace actord::daemon
