// A gRPC server whose only call is SendStream, over a runtime with a store on a
// disk that a test can stop.
//
// Thread-safety: the test's thread, unless a function says otherwise.
#pragma once

#include <actord/plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "daemon/operations/unread_answers.h"
#include "daemon/streams/send_stream.h"
#include "daemon/streams/stream.h"
#include "runtime/actors/request_ids.h"
#include "runtime/durable/opened_store.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"
#include "tests/daemon/streams/gated_disk.h"
#include "tests/runtime/store/memory_state_store.h"

namespace actord::daemon {

// How long a test waits. Only a failing test reaches this limit.
inline constexpr std::chrono::seconds kStreamPatience{60};

// Answers a call with the payloads of all its messages, joined by commas.
class Journaler : public actord::Process {
 public:
  static constexpr const char* kName = "journaler";
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        out.Reply(event.call(), text_);
      } else if (event.is_message()) {
        if (!text_.empty()) text_ += ',';
        // Of a long payload, the beginning.
        text_ += event.payload().bytes.substr(0, 8);
      }
    }
  }
  actord::SnapshotResult Snapshot() const { return std::string(text_); }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    text_ = from.snapshot.bytes;
    return actord::Status::Ok();
  }

 private:
  std::string text_;
};

class StreamWorld {
 public:
  // `max_unsynced_bytes`: see JournalOptions.
  explicit StreamWorld(uint64_t max_unsynced_bytes = 8 << 20);
  ~StreamWorld();
  StreamWorld(const StreamWorld&) = delete;
  StreamWorld& operator=(const StreamWorld&) = delete;

  // The PID of a new process, as text.
  std::string NewProcess(bool durable);
  // The items that a Journaler has got.
  std::string TextOf(const std::string& pid);
  // The number of messages that are in mailboxes or were taken.
  [[nodiscard]] uint64_t Sent() const { return runtime->Stats().messages_sent; }

  GatedDisk disk;
  runtime::Catalog catalog;
  std::unique_ptr<runtime::OpenedStore> store;
  std::unique_ptr<runtime::Runtime> runtime;
  OpenStreams streams;
  std::unique_ptr<v1::ActorService::Stub> stub;

 private:
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(StreamWorld& world) : world_(world) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override;

   private:
    StreamWorld& world_;
  };

  UnreadAnswers unread_{64 << 20};
  runtime::RequestIds ids_;
  Service service_{*this};
  std::unique_ptr<grpc::Server> server_;
};

// A client of the stream. Reads all responses on a thread of its own.
class StreamClient {
 public:
  explicit StreamClient(StreamWorld& world);
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  // One message for `pid` for each payload.
  void Write(const std::string& pid, const std::vector<std::string>& payloads);
  void Write(const v1::SendStreamRequest& request);
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Waits for the end of the stream.
  grpc::Status End();

  [[nodiscard]] uint64_t acked() const;
  [[nodiscard]] std::vector<v1::SendStreamResponse> responses() const;
  [[nodiscard]] std::vector<v1::SendRefusal> refusals() const;

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::SendStreamRequest, v1::SendStreamResponse>>
      stream_;
  mutable absl::Mutex mutex_;
  std::vector<v1::SendStreamResponse> responses_ ABSL_GUARDED_BY(mutex_);
  std::future<grpc::Status> reading_;
};

// Waits until `condition` holds; false after kStreamPatience.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kStreamPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace actord::daemon
