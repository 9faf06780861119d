// Processes that do random things and check all the while that the runtime
// keeps its promises to them:
//  (1) no two calls of one process at once; Init first, Close once and last;
//  (2) the messages of one sender arrive in order, without a gap or a repeat;
//  (3) every yield has exactly one completion, of its own process;
//  (4) a blocked process sees no message before a completion or a cancel;
//  (5) a step that fails leaves nothing: its sends and spawns never arrive.
// A broken promise is counted and its first text kept, because expectations on
// a worker's thread would be lost in the noise.
//
// Thread-safety: World from any thread; an Actor belongs to its process.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/process/pid.h"
#include "runtime/system/random.h"

namespace actord::runtime::stress {

// The content of a message: its sender, and its number among the messages of
// this sender to this receiver.
struct Note {
  uint64_t from = 0;
  uint64_t number = 0;
};
// Marks messages that must never arrive.
inline constexpr uint64_t kPoison = UINT64_MAX;

class World;

// The knowledge of the test about one process. Outlives the process.
struct Actor {
  World* world = nullptr;
  uint64_t id = 0;
  bool refuses_init = false;
  bool must_not_start = false;  // spawned by a step that failed

  std::atomic<bool> busy{false};
  std::atomic<int> inits{0};
  std::atomic<int> closes{0};

  // Of the process's turns.
  Random random{0};
  std::map<uint64_t, uint64_t> next_from;  // by sender
  std::map<uint64_t, uint64_t> next_to;    // by receiver
  std::set<Tag> outstanding;
  bool blocked = false;
  bool cancelled = false;
};

class World {
 public:
  struct Entry {
    runtime::Pid pid;
    uint64_t id = 0;
  };

  explicit World(uint64_t seed) : seed_(seed) {}

  Actor* NewActor() {
    auto actor = std::make_unique<Actor>();
    Actor* borrowed = actor.get();
    borrowed->world = this;
    const std::lock_guard lock(mutex_);
    borrowed->id = actors_.size() + 1;
    borrowed->random = Random(seed_ + borrowed->id);
    borrowed->refuses_init = borrowed->id % 37 == 0;
    actors_.push_back(std::move(actor));
    return borrowed;
  }
  // Makes it known, so that others send to it.
  void Enter(const runtime::Pid& pid, uint64_t id) {
    const std::lock_guard lock(mutex_);
    constexpr size_t kKnown = 256;
    if (known_.size() < kKnown) {
      known_.push_back({pid, id});
    } else {
      known_[id % kKnown] = {pid, id};
    }
  }
  Entry Pick(uint64_t random) {
    const std::lock_guard lock(mutex_);
    return known_.empty() ? Entry{} : known_[random % known_.size()];
  }
  std::vector<Entry> Known() {
    const std::lock_guard lock(mutex_);
    return known_;
  }

  void Broken(const std::string& promise) {
    const std::lock_guard lock(mutex_);
    if (broken_++ == 0) first_broken_ = promise;
  }
  std::pair<uint64_t, std::string> broken() {
    const std::lock_guard lock(mutex_);
    return {broken_, first_broken_};
  }

  // For the end, when no process is left.
  std::vector<std::unique_ptr<Actor>>& actors() { return actors_; }

  std::atomic<bool> stopping{false};
  std::atomic<int64_t> live{0};
  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> completed{0};

 private:
  const uint64_t seed_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Actor>> actors_;  // guarded by mutex_
  std::vector<Entry> known_;                    // guarded by mutex_
  uint64_t broken_ = 0;                         // guarded by mutex_
  std::string first_broken_;                    // guarded by mutex_
};

inline std::string InputOf(const Actor* actor) {
  return {reinterpret_cast<const char*>(&actor), sizeof(actor)};
}
inline std::string BytesOf(const Note& note, size_t padding) {
  std::string bytes(sizeof(note) + padding, 'x');
  std::memcpy(bytes.data(), &note, sizeof(note));
  return bytes;
}

class StressProcess : public actord::Process {
 public:
  static constexpr const char* kName = "stress";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view, const actord::Payload& input);
  void Step(Events events, StepOutput& out);
  void Close();

 private:
  class Call;

  void See(const Event& event);
  void Act(StepOutput& out);
  void ActAndFail(StepOutput& out);
  void SendTo(const World::Entry& to, StepOutput& out, bool poison);
  void SpawnOne(StepOutput& out, bool poison);
  void YieldOne(StepOutput& out, bool poison);
  void Decide(StepOutput& out);

  Actor* actor_ = nullptr;
};

class CancellableStressProcess : public StressProcess {
 public:
  static constexpr const char* kName = "stress.cancellable";
  static constexpr bool kHandlesCancel = true;
};

}  // namespace actord::runtime::stress
