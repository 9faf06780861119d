// Remembers which id started or reached which process. So a repeated Submit
// (request_id) or Send (message_id) gets the answer of the first call, and
// makes no second process or message. Only this class decides whether a request
// is a repeat.
//
// An id is *in flight* from its first Begin until End, and *remembered* after
// an End with success. A failure is not remembered: it had no effect, and the
// next call with that id is a first call again.
//
// An id that started or reached a durable process is durable: the record of the
// request in the journal holds it, the store keeps it, and Restore brings it
// back at the next start. Its End comes when that record is durable, so a
// repeat is not answered earlier. All other ids end with the daemon.
//
// Bounds: durable ids and other ids have separate bounds (remembered_ids.h).
// The ids in flight are limited by the unary calls in progress, which the
// server limits, and by the outstanding submissions of each stream.
//
// Thread-safety: every function may be called from any thread. Callbacks run
// without the lock, on the thread that calls Begin or End.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/actors/remembered_ids.h"
#include "runtime/process/fingerprint.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/system/sip_hash.h"

namespace actord::runtime {

// Stands for an owner and an id, with the secret of this start of the daemon.
Fingerprint RequestKeyOf(const SipKey& secret, Owner owner,
                         std::string_view id);

class RequestIds {
 public:
  using Callback = absl::AnyInvocable<void(const absl::StatusOr<Pid>&) &&>;
  // Stands for an owner and an id: each owner has ids of its own. Valid only in
  // this start of the daemon.
  using Key = Fingerprint;

  struct Options {
    RequestIdBounds bounds;   // of ids that end with the daemon
    RequestIdBounds durable;  // of durable ids; used with a store
    SipKey ids;               // secret: nobody can make two ids with one Key
    SipKey contents;  // for fingerprints; the store's key, if there is one
  };

  // `clock` is borrowed.
  RequestIds(const Options& options, const Clock& clock);

  [[nodiscard]] Key KeyOf(Owner owner, std::string_view id) const;
  // The key with which the content of a request is hashed.
  [[nodiscard]] const SipKey& content_key() const { return options_.contents; }

  enum class Role {
    kFirst,   // the caller carries out the request and calls End exactly once
    kRepeat,  // `callback` has been or will be called with the first answer
    kReused,  // the id belongs to a request with another content
  };
  // `callback` is used only for kRepeat.
  Role Begin(const Key& key, const Fingerprint& content, Callback callback);
  // Ends the flight of `key`, and calls the callbacks of all repeats with the
  // answer.
  void End(const Key& key, const absl::StatusOr<Pid>& answer);
  // Remembers an id of the store for `left_ns`. To be called in the order in
  // which the ids expire, before Begin of any of them.
  void Restore(const Key& key, const RememberedIds::Entry& entry,
               uint64_t left_ns);

  // Number of ids that are remembered or in flight.
  [[nodiscard]] size_t size() const;

 private:
  struct Hash {
    size_t operator()(const Key& key) const { return key.low; }
  };
  struct Flight {
    Fingerprint content;
    std::vector<Callback> waiting;
  };

  const Options options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  absl::flat_hash_map<Key, Flight, Hash> flights_ ABSL_GUARDED_BY(mutex_);
  RememberedIds remembered_ ABSL_GUARDED_BY(mutex_);
  RememberedIds durable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
