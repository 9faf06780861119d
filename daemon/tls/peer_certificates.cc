#include "daemon/tls/peer_certificates.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/support/alloc.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/tls/proved_name.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using identity::Certificate;
using identity::ParseCertificates;
using identity::SubjectOf;

constexpr size_t kSpare = 1000;

std::string_view Property(const grpc_auth_context* context, const char* name) {
  grpc_auth_property_iterator iterator =
      grpc_auth_context_find_properties_by_name(context, name);
  const grpc_auth_property* const property =
      grpc_auth_property_iterator_next(&iterator);
  if (property == nullptr) return {};
  return {property->value, property->value_length};
}

// The client's certificate, and then the other certificates that it has sent,
// as PEM; "": there are none. On a server the chain of OpenSSL, and so of gRPC,
// lacks the first one. A resumed session has only the first one.
std::string CertificatesOf(const grpc_auth_context* context) {
  const std::string_view own =
      Property(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const std::string_view others =
      Property(context, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME);
  return own.empty() ? std::string()
                     : absl::StrCat(std::string(own), std::string(others));
}

std::string PeerOf(grpc_call* call) {
  char* const text = grpc_call_get_peer(call);
  std::string peer(text);
  gpr_free(text);
  return peer;
}

}  // namespace

bool IsAnyRevoked(const TlsMaterial& material, std::string_view pem) {
  const auto certificates = ParseCertificates(pem);
  return !certificates.ok() ||
         std::any_of(certificates->begin(), certificates->end(),
                     [&material](const Certificate& one) {
                       return material.revocations().IsRevoked(one);
                     });
}

PeerCertificates::PeerCertificates(const TlsReloader& reloader,
                                   ConnectionAccess connections,
                                   const runtime::Clock& clock)
    : reloader_(reloader),
      connections_(std::move(connections)),
      clock_(clock),
      forget_at_(kSpare) {
  // The references outlive gRPC's server.
  grpc_init();
}

PeerCertificates::~PeerCertificates() {
  {
    const absl::MutexLock lock(&mutex_);
    entries_.clear();
  }
  grpc_shutdown();
}

absl::StatusOr<std::shared_ptr<const CertifiedPeer>> PeerCertificates::Answer(
    const Entry& entry) {
  if (!entry.is_revoked) return entry.peer;
  return runtime::Error(
      absl::StatusCode::kUnauthenticated, runtime::reason::kCertificateRevoked,
      absl::StrCat("the certificate of ", entry.peer->subject,
                   " is revoked; ask the operator of the daemon for another "
                   "one"));
}

absl::StatusOr<std::shared_ptr<const CertifiedPeer>> PeerCertificates::Check(
    grpc_call* call, const grpc_auth_context& context) {
  {
    const absl::ReaderMutexLock lock(&mutex_);
    const auto found = entries_.find(&context);
    if (found != entries_.end()) return Answer(found->second);
  }
  const std::string pem = CertificatesOf(&context);
  if (pem.empty()) return nullptr;
  const absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(&context);
  if (found != entries_.end()) return Answer(found->second);
  // Under the lock, so that a concurrent reload examines this connection, too.
  Entry entry = Examine(AuthContextOf(call), pem, PeerOf(call));
  entry.number = ++last_number_;
  auto answer = Answer(entry);
  entries_.emplace(&context, std::move(entry));
  if (entries_.size() >= forget_at_) ForgetEnded();
  return answer;
}

PeerCertificates::Entry PeerCertificates::Examine(
    AuthContext context, std::string_view pem, const std::string& peer) const {
  auto certified = std::make_shared<CertifiedPeer>();
  certified->connection = connections_.find(peer);
  const auto certificates = ParseCertificates(pem);
  if (certificates.ok()) {
    certified->name = ProvedName(certificates->front());
    certified->subject = SubjectOf(certificates->front());
  }
  Entry entry;
  entry.context = std::move(context);
  entry.peer = certified;
  entry.is_revoked = IsAnyRevoked(*reloader_.current(), pem);
  if (entry.is_revoked) entry.cut_ns = clock_.MonotonicNs() + kCutAfterNs;
  return entry;
}

void PeerCertificates::LookAgain(uint64_t now_ns) {
  struct Question {
    const grpc_auth_context* key = nullptr;
    uint64_t number = 0;
    std::string pem;
    bool is_revoked = false;
  };
  std::vector<Question> questions;
  {
    const absl::ReaderMutexLock lock(&mutex_);
    questions.reserve(entries_.size());
    for (const auto& [key, entry] : entries_) {
      questions.push_back(
          {.key = key, .number = entry.number, .pem = CertificatesOf(key)});
    }
  }
  // Without the lock, because calls wait for it. A connection that arrives now
  // is compared with the lists in force.
  const std::shared_ptr<const TlsMaterial> material = reloader_.current();
  for (Question& question : questions) {
    question.is_revoked = IsAnyRevoked(*material, question.pem);
  }
  const absl::MutexLock lock(&mutex_);
  for (const Question& question : questions) {
    const auto found = entries_.find(question.key);
    if (found == entries_.end() || found->second.number != question.number) {
      continue;
    }
    found->second.is_revoked = question.is_revoked;
    found->second.cut_ns = question.is_revoked ? now_ns : UINT64_MAX;
  }
}

void PeerCertificates::Tick(bool has_changed) {
  const uint64_t now_ns = clock_.MonotonicNs();
  if (has_changed) LookAgain(now_ns);
  std::vector<std::shared_ptr<const CertifiedPeer>> due;
  {
    const absl::MutexLock lock(&mutex_);
    ForgetEnded();
    for (auto& [context, entry] : entries_) {
      if (now_ns < entry.cut_ns) continue;
      entry.cut_ns = UINT64_MAX;
      due.push_back(entry.peer);
    }
  }
  // Without the lock, because cutting takes time.
  for (const auto& peer : due) {
    connections_.cut(peer->connection, peer->subject);
  }
}

void PeerCertificates::ForgetEnded() {
  absl::erase_if(entries_, [this](const auto& entry) {
    return !connections_.is_open(entry.second.peer->connection);
  });
  forget_at_ = 2 * entries_.size() + kSpare;
}

CertifiedConnections PeerCertificates::ByConnection() const {
  CertifiedConnections all;
  const absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [context, entry] : entries_) {
    all[entry.peer->connection] = entry.peer;
  }
  return all;
}

size_t PeerCertificates::size() const {
  const absl::ReaderMutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace actord::daemon
