// A client of the HTTP port of a collector. It keeps its connection, and makes
// a new one when the collector has closed it.
//
// The collector is not trusted: an answer has at most kMaxAnswerBytes, and an
// exchange ends after its time, however slowly the bytes come.
//
// Thread-safety: Post from one thread; Hurry from any thread. Ownership:
// borrows the clock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "daemon/settings/config_text.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class Collector {
 public:
  static constexpr size_t kMaxHeaderBytes = size_t{16} << 10;
  static constexpr size_t kMaxAnswerBytes = size_t{64} << 10;

  // How one exchange ended.
  struct Answer {
    // The status of HTTP; 0: there is no whole answer, and `problem` says why.
    int status = 0;
    std::string problem = {};
    // The pause that the collector asks for; zero: none.
    absl::Duration retry_after = absl::ZeroDuration();
    std::string body = {};
  };

  // `agent`: the name and version of the program, for the collector.
  Collector(CollectorUrl url, std::string agent, const runtime::Clock& clock);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Posts the body. Waits for the answer, for at most `patience`.
  Answer Post(const std::string& body, absl::Duration patience);
  // From now on, what runs and what follows has at most `left` together.
  void Hurry(absl::Duration left);

 private:
  class Connection;

  const std::unique_ptr<Connection> connection_;
};

}  // namespace actord::daemon
