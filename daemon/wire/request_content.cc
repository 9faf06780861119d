// The content of requests that fingerprints hash. It must never change: the
// store keeps fingerprints, and a repeat in a later version must have the same
// one.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/wire/proto_requests.h"

namespace actord::daemon {

runtime::Fingerprint Fingerprint(const runtime::SipKey& key, const Address& to,
                                 const runtime::Message& message) {
  const std::string pid = to.pid.empty() ? "" : runtime::FormatPid(to.pid);
  return runtime::FingerprintOf(
      key,
      {{"send", pid, to.name, to.owner ? "owner" : "",
        to.owner ? std::string_view(*to.owner) : std::string_view(),
        message.topic, message.payload.bytes, message.payload.content_type}});
}

runtime::Fingerprint Fingerprint(const runtime::SipKey& key,
                                 const runtime::SubmitRequest& request) {
  const std::string priority = absl::StrCat(request.priority);
  std::vector<std::string_view> parts = {"submit",
                                         request.process_type,
                                         request.method,
                                         request.input.bytes,
                                         request.input.content_type,
                                         request.name,
                                         priority,
                                         request.durable ? "durable" : ""};
  for (const runtime::Message& message : request.messages) {
    parts.insert(parts.end(), {message.topic, message.payload.bytes,
                               message.payload.content_type});
  }
  // Without labels the content is that of earlier versions.
  const std::vector<std::string> labels = request.labels.Texts();
  if (!labels.empty()) {
    parts.emplace_back("labels");
    parts.insert(parts.end(), labels.begin(), labels.end());
  }
  return runtime::FingerprintOf(key, parts);
}

}  // namespace actord::daemon
