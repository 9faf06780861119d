#include "client/streams/send_stream.h"

#include <atomic>
#include <utility>

#include "actord/v1/stream.pb.h"
#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/streams/stream_call.h"

namespace actord::client {

struct SendStream::Core {
  using Call = StreamCall<v1::SendStreamRequest, v1::SendStreamResponse>;

  Core(const Client& client, SendStreamOptions with)
      : connection(client.connection_),
        options(std::move(with)),
        call(options.window, [this](const v1::SendStreamResponse& response) {
          return Take(response);
        }) {}

  Call::Progress Take(const v1::SendStreamResponse& response) {
    for (const v1::SendRefusal& refusal : response.refusals()) {
      refused.fetch_add(1, std::memory_order_relaxed);
      if (!options.on_refused) continue;
      options.on_refused(refusal.index(), FromRefusal(refusal.refusal()));
    }
    return {response.acked_count(), response.acked_count()};
  }

  const std::shared_ptr<Client::Connection> connection;
  const SendStreamOptions options;
  std::atomic<uint64_t> refused{0};
  // First destroyed, because its callbacks use the other members.
  Call call;
};

SendStream::SendStream(const Client& client, SendStreamOptions options)
    : core_(std::make_unique<Core>(client, std::move(options))) {
  core_->call.Start(
      core_->connection->endpoint, [this](auto* context, auto* reactor) {
        core_->connection->actors->async()->SendStream(context, reactor);
      });
}

SendStream::~SendStream() = default;

absl::StatusOr<uint64_t> SendStream::Send(v1::SendRequest request) {
  const size_t bytes = request.ByteSizeLong();
  return core_->call.Add(bytes, [&request](v1::SendStreamRequest& batch) {
    *batch.add_sends() = std::move(request);
  });
}

absl::Status SendStream::Flush() { return core_->call.Flush(); }

absl::Status SendStream::Finish() { return core_->call.Finish(); }

void SendStream::Cancel() { core_->call.Cancel(); }

uint64_t SendStream::acked() const { return core_->call.through(); }

uint64_t SendStream::refused() const {
  return core_->refused.load(std::memory_order_relaxed);
}

}  // namespace actord::client
