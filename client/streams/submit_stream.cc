#include "client/streams/submit_stream.h"

#include <unordered_set>
#include <utility>

#include "client/calls/connection.h"
#include "client/streams/stream_call.h"

namespace actord::client {

struct SubmitStream::Core {
  using Call = StreamCall<v1::SubmitStreamRequest, v1::SubmitStreamResponse>;

  Core(const Client& client, SubmitStreamOptions with)
      : connection(client.connection_),
        options(std::move(with)),
        call(options.window, [this](const v1::SubmitStreamResponse& response) {
          return Take(response);
        }) {}

  Call::Progress Take(const v1::SubmitStreamResponse& response) {
    for (const v1::SubmissionNews& news : response.news()) {
      if (options.on_news) options.on_news(news);
      const bool is_last = news.has_refusal() || news.has_outcome() ||
                           news.has_outcome_refusal() ||
                           !options.await_outcomes;
      if (is_last) AddThrough(news.index());
    }
    return progress;
  }

  void AddThrough(uint64_t index) {
    ++progress.through;
    if (index != progress.first_waiting) {
      through_early.insert(index);
      return;
    }
    do {
      ++progress.first_waiting;
    } while (through_early.erase(progress.first_waiting) != 0);
  }

  const std::shared_ptr<Client::Connection> connection;
  const SubmitStreamOptions options;
  // Used by Take alone: the items after the first that waits, at most as many
  // as the window.
  Call::Progress progress;
  std::unordered_set<uint64_t> through_early;
  // First destroyed, because its callbacks use the other members.
  Call call;
};

SubmitStream::SubmitStream(const Client& client, SubmitStreamOptions options)
    : core_(std::make_unique<Core>(client, std::move(options))) {
  core_->call.Start(
      core_->connection->endpoint, [this](auto* context, auto* reactor) {
        core_->connection->actors->async()->SubmitStream(context, reactor);
      });
}

SubmitStream::~SubmitStream() = default;

absl::StatusOr<uint64_t> SubmitStream::Submit(v1::SubmitRequest request) {
  const size_t bytes = request.ByteSizeLong();
  return core_->call.Add(
      bytes, [this, &request](v1::SubmitStreamRequest& batch) {
        *batch.add_submissions() = std::move(request);
        batch.set_await_outcomes(core_->options.await_outcomes);
      });
}

absl::Status SubmitStream::Flush() { return core_->call.Flush(); }

absl::Status SubmitStream::Finish() { return core_->call.Finish(); }

void SubmitStream::Cancel() { core_->call.Cancel(); }

uint64_t SubmitStream::through() const { return core_->call.through(); }

}  // namespace actord::client
