// A client of the simulated daemon, and a worker for its external tasks, each
// on a thread of its own. At times a client acts as the operator. They ask for
// what the seed draws, wait for the disk as the daemon's calls do, and tell the
// world outside what they were told.
//
// Thread-safety: as Outside. Ownership: borrows everything. Lifetime: a client
// lives as long as one life of the program.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/runtime.h"
#include "tests/sim/store/outside.h"
#include "tests/sim/store/store_life.h"
#include "tests/sim/store/store_operator.h"

namespace actord::sim {

class StoreClient {
 public:
  StoreClient(Outside& outside, StoreLife& life, uint64_t number);

  // Performs `acts` actions with pauses, until the program ends.
  void Run(uint64_t acts);

 private:
  void Act();
  void Submit();
  void Submit(Outside::Submission& submission);
  void SubmitOnce(Outside::Submission& submission);
  void Send();
  void Send(Outside::Sending& sending);
  void Call(Outside::Sending& sending);
  void HearReply(Outside::Sending& sending,
                 const absl::StatusOr<runtime::Payload>& reply);
  void Get();
  void Get(const runtime::Pid& of);
  void Await();
  void LookUp();
  void Terminate();
  void Cancel();
  void CheckRefusal(const absl::Status& status, const runtime::Pid& to);
  void Pause();
  uint64_t Draw(uint64_t below) { return outside_.Draw(below); }

  Outside& outside_;
  runtime::Runtime& runtime_;
  StoreOperator operator_;
  const uint64_t number_;
};

class StoreWorker {
 public:
  StoreWorker(Outside& outside, runtime::Runtime& runtime);

  // Takes tasks and answers them until `stops` or the end of the program.
  void Run(const bool& stops);

 private:
  void Take();
  void Answer(const runtime::TaskAttempt& task);

  Outside& outside_;
  runtime::Runtime& runtime_;
  runtime::RemoteWorkerId worker_ = 0;
};

}  // namespace actord::sim
