#include "daemon/operations/store_watch.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr uint64_t kPauseNs = 500'000'000;

}  // namespace

StoreWatch::Parts StoreWatch::PartsOf(runtime::OpenedStore& store,
                                      std::function<void(bool)> set_serving) {
  return {.sync_running_ns =
              [&store] { return store.journal().Stats().sync_running_ns; },
          .is_full = [&store] { return store.IsFull(); },
          .unpublished_stalls =
              [&store] { return store.journal().Stats().unpublished_stalls; },
          .set_serving = std::move(set_serving)};
}

StoreWatch::StoreWatch(Parts parts, Logger& logger)
    : parts_(std::move(parts)), logger_(logger) {}

StoreWatch::~StoreWatch() { Stop(); }

absl::Status StoreWatch::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that watches the store: ", error.what()));
  }
}

void StoreWatch::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

void StoreWatch::Run() {
  pthread_setname_np(pthread_self(), "store watch");
  while (!stopping_.load(std::memory_order_relaxed)) {
    Look();
    parker_.Wait(kPauseNs);
  }
}

void StoreWatch::Look() {
  LookForHang();
  LookForRoom();
  LookForStalls();
}

void StoreWatch::LookForHang() {
  const uint64_t running_ns = parts_.sync_running_ns();
  if (running_ns >= kHangNs) {
    if (!std::exchange(hangs_, true)) {
      logged_ns_ = 0;
      parts_.set_serving(false);
    }
    if (running_ns - logged_ns_ < kHangNs) return;
    logged_ns_ = running_ns;
    logger_.Error(absl::StrCat(
        "the disk of the store hangs: a write or sync of the journal has not "
        "returned for ",
        running_ns / 1'000'000'000,
        " s. Answers for durable processes wait, and health checks say "
        "NOT_SERVING. Check the disk"));
  } else if (std::exchange(hangs_, false)) {
    parts_.set_serving(true);
    logger_.Info("the disk of the store hangs no longer");
  }
}

void StoreWatch::LookForRoom() {
  const bool is_full = parts_.is_full();
  if (is_full == std::exchange(is_full_, is_full)) return;
  if (is_full) {
    logger_.Warning(
        "the disk of the store has no room, or less than store.disk_reserve: "
        "new durable processes, and messages to them, are refused with "
        "STORE_FULL. Make room; the daemon then goes on by itself");
  } else {
    logger_.Info("the disk of the store has room again");
  }
}

void StoreWatch::LookForStalls() {
  const uint64_t stalls = parts_.unpublished_stalls();
  const uint64_t more = stalls - std::exchange(stalls_, stalls);
  if (more == 0) return;
  logger_.Warning(absl::StrCat(
      "the journal has waited more than 100 ms for a thread that was writing a "
      "record, ",
      more, more == 1 ? " time" : " times", " since the last look and ", stalls,
      " since the start. All durable work waited meanwhile. Such a thread gets "
      "no processor: give the daemon more processor time, and look whether its "
      "memory is swapped out"));
}

}  // namespace actord::daemon
