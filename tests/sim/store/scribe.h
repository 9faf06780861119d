// The process types of the simulator's worlds with a store: scribes, which are
// durable and keep a diary (diary.h), and the witness, which is volatile and
// tells the world outside what scribes have told it.
//
// A scribe draws what it does from the random bits of its step, and depends on
// nothing but its state, its events and its context. So a replay does the same.
//
// Scribes have several versions (scribe_versions.h), which act alike. Each
// entry of a diary has the version of the code that has written it.
//
// Thread-safety: as for every process.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/sim/store/diary.h"

namespace actord::sim {

class Outside;

// The reason of a cancel that a scribe of the replay type sees and does not
// follow, so the deadline of the cancel ends it.
inline constexpr std::string_view kLinger = "linger";

// `kReplayed`: its durability; otherwise it is an image.
template <bool kReplayed>
class BasicScribe : public Process {
 public:
  explicit BasicScribe(uint16_t version) : version_(version) {}

  static constexpr const char* kName = kReplayed ? "scribe.replay" : "scribe";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"refuse", nullptr}};
  static constexpr bool kTrapsExits = true;
  static constexpr bool kHandlesCancel = kReplayed;
  static constexpr Durability kDurability =
      kReplayed ? Durability::kReplay : Durability::kImage;

  // The input is the number of the submission; empty: the child of a scribe;
  // otherwise the diary of a former life. The method "refuse" refuses it.
  Status Init(std::string_view method, const Payload& input);
  void Step(Events events, StepOutput& out);
  SnapshotResult Snapshot() const {
    if (kReplayed && diary_.IsBusy()) return SnapshotResult::NotNow();
    return diary_.Encode();
  }
  // Refuses some states of older versions.
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context);

 private:
  void See(const Event& event, StepOutput& out);
  // Begins again, or tries to: some lives end here, because the next Init
  // refuses. `unseen`: what it hands on; null: nothing.
  void BeginAgain(StepOutput& out, const Events* unseen);
  // Nothing would be lost with this life but what its diary has.
  [[nodiscard]] bool MayBeginAgain() const;
  void SeeMessage(const Event& event, StepOutput& out);
  void SeeCall(const Event& event, StepOutput& out);
  void SeeCompletion(const Event& event, StepOutput& out);
  void Act(uint32_t budget, StepOutput& out);
  void SendOne(uint32_t budget, StepOutput& out);
  void Tell(StepOutput& out);
  void YieldOne(Command command, StepOutput& out);
  void Sleep(StepOutput& out);
  void SpawnOne(StepOutput& out);
  void MonitorOne(StepOutput& out);
  void AskOne(StepOutput& out);
  void ReplyOne(StepOutput& out);
  uint64_t Draw(uint64_t below, StepOutput& out) {
    return (out.random() >> 16) % below;
  }

  const uint16_t version_;
  Diary diary_;
  // This life has ended.
  bool is_over_ = false;
  // It follows the cancel that this step has seen.
  bool is_cancelled_ = false;
};

using Scribe = BasicScribe<false>;
using ReplayedScribe = BasicScribe<true>;

class Witness : public Process {
 public:
  static constexpr const char* kName = "witness";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out);

  // Of this simulation.
  static inline Outside* outside = nullptr;
};

}  // namespace actord::sim
