#include "daemon/spans/name_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace actord::daemon {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(20);
constexpr size_t kMaxAddresses = 16;

bool IsAddress(const std::string& host) {
  in6_addr unused;
  return inet_pton(AF_INET, host.c_str(), &unused) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

}  // namespace

struct NameLookup::Running {
  absl::Mutex mutex;
  std::optional<absl::StatusOr<Addresses>> found ABSL_GUARDED_BY(mutex);
};

NameLookup::NameLookup(Ask ask) : ask_(std::move(ask)) {}

absl::StatusOr<NameLookup::Addresses> NameLookup::AskSystem(
    const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "the name ", host, " has no address: ", gai_strerror(error)));
  }
  Addresses addresses;
  for (const addrinfo* one = list;
       one != nullptr && addresses.size() < kMaxAddresses; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), nullptr,
                    0, NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  freeaddrinfo(list);
  return addresses;
}

absl::StatusOr<NameLookup::Addresses> NameLookup::Find(
    const std::string& host, const std::function<bool()>& may_wait) {
  if (IsAddress(host)) return Addresses{host};
  if (running_ == nullptr) {
    running_ = std::make_shared<Running>();
    try {
      std::thread([running = running_, ask = ask_, host] {
        pthread_setname_np(pthread_self(), "name lookup");
        absl::StatusOr<Addresses> found = ask(host);
        const absl::MutexLock lock(&running->mutex);
        running->found = std::move(found);
      }).detach();
    } catch (const std::system_error& error) {
      running_ = nullptr;
      return absl::UnavailableError(absl::StrCat("no thread to look the name ",
                                                 host, " up: ", error.what()));
    }
  }
  const std::shared_ptr<Running> running = running_;
  const absl::MutexLock lock(&running->mutex);
  while (!running->found.has_value()) {
    if (!may_wait()) {
      return absl::DeadlineExceededError(
          absl::StrCat("the name ", host, " was not found in time"));
    }
    running->mutex.AwaitWithTimeout(
        absl::Condition(
            +[](std::optional<absl::StatusOr<Addresses>>* found) {
              return found->has_value();
            },
            &running->found),
        kLookEvery);
  }
  running_ = nullptr;
  return *std::move(running->found);
}

}  // namespace actord::daemon
