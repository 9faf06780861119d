#include "daemon/tls/tls_reloader.h"

#include <pthread.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/tls/tls_files.h"

namespace actord::daemon {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
constexpr uint64_t kDayNs = 86'400'000'000'000;

}  // namespace

absl::StatusOr<std::unique_ptr<TlsReloader>> TlsReloader::Open(
    const TlsSettings& settings, Logger& logger, const runtime::Clock& clock) {
  absl::Status status = CheckTlsSettings(settings);
  if (!status.ok()) return status;
  if (settings.certificate.empty()) return nullptr;
  std::unique_ptr<TlsReloader> reloader(
      new TlsReloader(settings, logger, clock));
  auto texts = ReadTlsFiles(settings);
  if (!texts.ok()) return texts.status();
  auto material =
      TlsMaterial::Check(settings, *std::move(texts), reloader->Now());
  if (!material.ok()) return material.status();
  for (const std::string& part : (*material)->Changes(nullptr)) {
    logger.Info(part);
  }
  {
    const absl::MutexLock lock(&reloader->mutex_);
    reloader->current_ = *std::move(material);
  }
  const absl::MutexLock lock(&reloader->pass_mutex_);
  reloader->WarnDaily();
  return reloader;
}

TlsReloader::~TlsReloader() { Stop(); }

absl::Time TlsReloader::Now() const {
  return absl::FromUnixNanos(static_cast<int64_t>(clock_.UnixNs()));
}

std::shared_ptr<const TlsMaterial> TlsReloader::current() const {
  const absl::MutexLock lock(&mutex_);
  return current_;
}

absl::Status TlsReloader::Start(std::function<void(bool has_changed)> on_tick) {
  on_tick_ = std::move(on_tick);
  const uint64_t next_ns = clock_.MonotonicNs() + IntervalNs();
  try {
    thread_ = std::thread([this, next_ns] { Run(next_ns); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that reads the files of TLS: ", error.what()));
  }
}

void TlsReloader::Stop() {
  if (!thread_.joinable()) return;
  {
    const absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  parker_.Notify();
  thread_.join();
}

void TlsReloader::Reload() {
  const absl::MutexLock lock(&pass_mutex_);
  // A reload that an operator asks for reports the error again.
  refused_.clear();
  Pass();
}

void TlsReloader::Pass() {
  auto texts = ReadTlsFiles(settings_);
  if (!texts.ok()) return Refuse(texts.status());
  const std::shared_ptr<const TlsMaterial> former = current();
  if (*texts == former->texts()) {
    if (!refused_.empty()) {
      logger_.Info("the TLS files match the ones in force again");
    }
    refused_.clear();
    return;
  }
  auto material = TlsMaterial::Check(settings_, *std::move(texts), Now());
  if (!material.ok()) return Refuse(material.status());
  refused_.clear();
  const std::vector<std::string> changes = (*material)->Changes(former.get());
  {
    const absl::MutexLock lock(&mutex_);
    current_ = *std::move(material);
    has_changed_ = true;
  }
  parker_.Notify();
  // Logged only when the new files are in force.
  logger_.Info(absl::StrCat("TLS reloaded: ", absl::StrJoin(changes, "; ")));
  next_warning_ns_ = 0;
}

void TlsReloader::Refuse(const absl::Status& why) {
  std::string text(why.message());
  if (text == refused_) return;
  logger_.Error(
      absl::StrCat("TLS not reloaded, the former files stay in force: ", text));
  refused_ = std::move(text);
}

void TlsReloader::WarnDaily() {
  const uint64_t now_ns = clock_.MonotonicNs();
  if (now_ns < next_warning_ns_) return;
  next_warning_ns_ = now_ns + kDayNs;
  for (const std::string& warning : current()->Warnings(Now())) {
    logger_.Warning(warning);
  }
}

uint64_t TlsReloader::IntervalNs() const {
  return static_cast<uint64_t>(
      absl::ToInt64Nanoseconds(settings_.reload_interval));
}

void TlsReloader::Run(uint64_t next_pass_ns) {
  pthread_setname_np(pthread_self(), "tls");
  for (;;) {
    parker_.Wait(static_cast<uint64_t>(absl::ToInt64Nanoseconds(kTick)));
    bool has_changed = false;
    {
      const absl::MutexLock lock(&mutex_);
      if (is_stopping_) return;
      has_changed = std::exchange(has_changed_, false);
    }
    on_tick_(has_changed);
    const uint64_t now_ns = clock_.MonotonicNs();
    const absl::MutexLock lock(&pass_mutex_);
    if (now_ns >= next_pass_ns) {
      next_pass_ns = now_ns + IntervalNs();
      Pass();
    }
    WarnDaily();
  }
}

}  // namespace actord::daemon
