// A collector on a port of its own, which answers as the test has written down.
//
// Thread-safety: any thread. Ownership: owns its thread and its sockets.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace actord::daemon {

class FakeCollector {
 public:
  // In place of an answer.
  static constexpr const char* kClose = "close";
  static constexpr const char* kHang = "hang";
  // A byte each 20 ms, without an end.
  static constexpr const char* kDrip = "drip";
  // A body of 1 GiB, whose length is announced, or in chunks, or up to the end
  // of the connection.
  static constexpr const char* kFlood = "flood";
  static constexpr const char* kChunkedFlood = "chunked flood";
  static constexpr const char* kEndlessFlood = "endless flood";

  // The bytes of an answer without a body.
  static std::string Plain(int status, const std::string& headers = "");

  // The first request gets the first answer, and so on. The later ones get an
  // empty answer with the status 200.
  explicit FakeCollector(std::vector<std::string> answers = {});
  ~FakeCollector();
  FakeCollector(const FakeCollector&) = delete;
  FakeCollector& operator=(const FakeCollector&) = delete;

  [[nodiscard]] std::string url() const;
  // The requests so far: their headers and their bodies.
  [[nodiscard]] std::vector<std::string> headers() const;
  [[nodiscard]] std::vector<std::string> bodies() const;
  // Waits until there are `count` requests; false: not in 30 s.
  [[nodiscard]] bool Await(size_t count) const;
  // Connections that were accepted.
  [[nodiscard]] int connections() const { return connections_.load(); }
  // Bytes of answers that were written.
  [[nodiscard]] size_t written() const { return written_.load(); }

 private:
  void Run();
  void Serve(int fd);
  // False: the client has gone, or the collector ends.
  bool ReadInto(int fd, std::string& bytes) const;
  bool Write(int fd, const std::string& bytes);
  void Answer(int fd, const std::string& answer);
  void Flood(int fd, const std::string& headers, const std::string& piece);

  int listener_ = -1;
  int port_ = 0;
  std::vector<std::string> answers_;  // for the thread alone
  mutable absl::Mutex mutex_;
  std::vector<std::string> headers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> bodies_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> connections_{0};
  std::atomic<size_t> written_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace actord::daemon
