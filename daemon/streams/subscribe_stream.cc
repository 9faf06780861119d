#include "daemon/streams/subscribe_stream.h"

#include <actord/text.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "daemon/wire/rpc_message.h"
#include "runtime/process/pid.h"

namespace actord::daemon {
namespace {

void WritePublication(const runtime::Subscription::Item& item,
                      const OwnerLabels& labels, v1::Publication* proto) {
  const runtime::Publication& publication = *item.publication;
  const runtime::Envelope& content = *publication.content;
  proto->set_topic(ToUtf8(content.topic()));
  WritePayload(runtime::FromAbi(content.payload()), proto->mutable_payload());
  proto->set_publisher_pid(runtime::FormatPid(runtime::FromAbi(content.from)));
  proto->set_sequence(item.sequence);
  proto->set_missed(item.missed);
  *proto->mutable_publish_time() = ToProtoTimestamp(publication.unix_ns);
  labels.Write(publication.owner, proto);
}

}  // namespace

absl::Status SubscribeStream::Open(const v1::SubscribeRequest& request) {
  const absl::MutexLock lock(&mutex_);
  auto subscription = topics_.Open(
      sees_,
      std::vector<std::string>(request.patterns().begin(),
                               request.patterns().end()),
      std::static_pointer_cast<SubscribeStream>(shared_from_this()));
  if (!subscription.ok()) return subscription.status();
  subscription_ = *std::move(subscription);
  return absl::OkStatus();
}

void SubscribeStream::OnEnded() {
  if (subscription_ == nullptr) return;
  topics_.Close(*subscription_);
  subscription_ = nullptr;
}

bool SubscribeStream::TakeOutput() {
  outgoing_.Clear();
  if (std::exchange(greets_, false)) return true;
  if (subscription_ == nullptr) return false;
  const runtime::Subscription::Batch batch = subscription_->Take({});
  for (const runtime::Subscription::Item& item : batch.items) {
    WritePublication(item, owner_labels_, outgoing_.add_publications());
  }
  outgoing_.set_missed(batch.missed);
  return !batch.empty();
}

absl::Status SubscribeStream::WriteOutput(grpc::ByteBuffer* bytes) {
  absl::Status status = WriteMessage(outgoing_, bytes);
  // An idle stream holds no publications.
  outgoing_ = {};
  return status;
}

}  // namespace actord::daemon
