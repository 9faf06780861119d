// The Subscribe call: publications of processes, as fast as the client reads
// them.
//
// Bounds: the stream makes a response when the last response has been written.
// So for a client that does not read, the stream holds one response, and the
// queue of its subscription holds what subscription.h permits. Then the oldest
// publications are lost, and the client learns how many.
//
// Order of locks: the stream's lock before those of Topics. Topics does not
// hold a lock when it calls Wake.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "actord/v1/topic.pb.h"
#include "daemon/streams/stream.h"
#include "runtime/topics/topics.h"

namespace actord::daemon {

// While the stream is open, its subscription keeps it alive, too.
class SubscribeStream final : public WriteStream,
                              public runtime::SubscriptionListener {
 public:
  // Borrows its arguments, which must outlive the server.
  SubscribeStream(runtime::Topics& topics, OpenStreams& streams,
                  const Access& access)
      : WriteStream(streams, access),
        topics_(topics),
        sees_(access.sees()),
        owner_labels_(access.owner_labels()) {}

  // To be called once, before the stream begins. After an error the stream is
  // not open and must not begin.
  absl::Status Open(const v1::SubscribeRequest& request);

  // SubscriptionListener.
  void Wake() override { Continue(); }

 private:
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Topics& topics_;
  // The rights at the beginning: if the token later sees other owners, the
  // stream ends.
  const runtime::Owner sees_;
  const OwnerLabels owner_labels_;

  // Null: the stream is not open, or has ended.
  std::shared_ptr<runtime::Subscription> subscription_ ABSL_GUARDED_BY(mutex_);
  // The first response, which has no publications, was not taken yet.
  bool greets_ ABSL_GUARDED_BY(mutex_) = true;
  // The content that was set aside.
  v1::SubscribeResponse outgoing_;
};

}  // namespace actord::daemon
