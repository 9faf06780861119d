// Looks up the addresses of a host. The system's look-up cannot be broken off,
// so it runs on a thread of its own, which nobody has to wait for: a name
// server that does not answer delays no shutdown.
//
// Thread-safety: one thread at a time. Ownership: a look-up that is abandoned
// frees its memory itself when it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::daemon {

class NameLookup {
 public:
  // Text of an IPv4 or IPv6 address, without brackets.
  using Addresses = std::vector<std::string>;
  // Blocks for as long as the system likes. Any thread.
  using Ask = std::function<absl::StatusOr<Addresses>(const std::string& host)>;

  explicit NameLookup(Ask ask = AskSystem);

  // The addresses of `host`, in the order in which to try them. Waits while
  // `may_wait` says so, which is asked every few milliseconds. A later Find
  // goes on with a look-up that has not ended, so at most one runs.
  //
  // UNAVAILABLE: the name has no address. DEADLINE_EXCEEDED: no answer in time.
  absl::StatusOr<Addresses> Find(const std::string& host,
                                 const std::function<bool()>& may_wait);

  static absl::StatusOr<Addresses> AskSystem(const std::string& host);

 private:
  struct Running;

  const Ask ask_;
  std::shared_ptr<Running> running_;  // null: no look-up runs
};

}  // namespace actord::daemon
