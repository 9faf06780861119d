#include "client/plugin_check/checker.h"

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/plugin_check/messages.h"
#include "client/plugin_check/tried_plugins.h"
#include "runtime/crash/alternate_stack.h"
#include "runtime/crash/running_code.h"
#include "runtime/durable/durable_store.h"
#include "runtime/upgrade_trial.h"

namespace actord::client {
namespace {

// ---- The report of a crash. A signal handler allocates nothing.

// Set before the handlers are installed.
int crash_socket = -1;

class CrashText {
 public:
  void Add(std::string_view text) {
    const size_t room = text_.size() - size_;
    const size_t bytes = text.size() < room ? text.size() : room;
    std::memcpy(text_.data() + size_, text.data(), bytes);
    size_ += bytes;
  }
  void Send() const {
    FrameHeader header{};
    header.bytes = static_cast<uint32_t>(size_);
    header.kind = FrameKind::kCrash;
    // The text is so small that one call sends all of it.
    if (send(crash_socket, &header, sizeof header, MSG_NOSIGNAL) < 0) return;
    (void)send(crash_socket, text_.data(), size_, MSG_NOSIGNAL);
  }

 private:
  std::array<char, 512> text_;
  size_t size_ = 0;
};

void TellOfCrash(int signal) {
  CrashText text;
  if (const auto code = runtime::RunningCodeHere()) {
    text.Add(code->function);
    text.Add(" of ");
    if (code->plugin.empty()) {
      text.Add(code->file);
    } else {
      text.Add(code->plugin);
      text.Add(" ");
      text.Add(code->version);
    }
  }
  text.Send();
  // SA_RESETHAND: the second signal ends the child.
  raise(signal);
}

void TellOfCrashes(const FrameSocket& socket) {
  crash_socket = socket.fd();
  struct sigaction action {};
  action.sa_handler = TellOfCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigaction(signal, &action, nullptr);
  }
}

// ---- Messages.

absl::Status Reply(FrameSocket& socket, const CheckerReply& reply) {
  std::string bytes;
  runtime::EncodeFields(reply, bytes);
  return socket.Send(FrameKind::kMessage, bytes);
}

absl::StatusOr<runtime::StoredProcess> StoredOf(const SentProcess& sent) {
  SentContent content;
  absl::Status status = runtime::DecodeFields(sent.content, content);
  if (!status.ok()) return status;
  runtime::StoredProcess stored;
  stored.pid = sent.pid;
  stored.entry = std::move(content.entry);
  stored.image = std::move(content.image);
  for (runtime::Consumed& one : content.mailbox) {
    stored.mailbox.push_back({one.position, std::move(one.mail)});
  }
  for (runtime::HistoryEntry& entry : content.history) {
    runtime::StepOfHistory& step = stored.history.emplace_back();
    status = runtime::DecodeFields(entry.step, step.step);
    if (!status.ok()) return absl::DataLossError(status.message());
    step.consumed = std::move(entry.consumed);
  }
  return stored;
}

class Checker {
 public:
  Checker(const CheckOrder& order, FrameSocket& socket)
      : order_(order), socket_(socket), plugins_(catalog_, order.store) {}

  void Run() {
    const auto loaded = plugins_.LoadFile(order_.file, order_.plugins);
    if (!loaded.ok()) return Fail(loaded.status());
    trial_.emplace(catalog_,
                   runtime::UpgradeTrial::Options{
                       .incarnation = static_cast<uint32_t>(order_.incarnation),
                       .store_ns = order_.store_ns,
                       .max_payload_bytes = order_.limits.max_payload_bytes,
                       .max_record_bytes = order_.limits.max_record_bytes,
                       .load_former = [this](auto number) { Load(number); }});
    absl::Status status = Reply(socket_, {});
    while (status.ok()) {
      absl::StatusOr<Frame> frame =
          socket_.Receive(absl::InfiniteFuture(), nullptr);
      if (!frame.ok()) return;
      status = TryOne(frame->bytes);
    }
  }

 private:
  void Fail(const absl::Status& status) {
    // If the other side has ended, nobody needs the error.
    Reply(socket_, {.error = SentError::Of(status)}).IgnoreError();
  }

  absl::Status TryOne(const std::string& bytes) {
    SentProcess sent;
    absl::Status status = runtime::DecodeFields(bytes, sent);
    if (status.ok()) {
      auto stored = StoredOf(sent);
      status = stored.status();
      if (status.ok()) {
        const auto result = trial_->Run(*std::move(stored));
        status = result.status();
        if (status.ok()) reply_.result = *result;
      }
    }
    if (!status.ok()) reply_.error = SentError::Of(status);
    return Reply(socket_, std::exchange(reply_, {}));
  }

  // Like the daemon, goes on without a file that cannot be loaded, and warns.
  void Load(runtime::records::PluginNumber number) {
    for (const runtime::records::Plugin& plugin : order_.plugins) {
      if (plugin.number != number) continue;
      const absl::Status status = plugins_.LoadKept(plugin);
      if (status.ok()) return;
      if (absl::IsPermissionDenied(status)) {
        // A daemon of another user may load it.
        reply_.error = SentError::Of(absl::PermissionDeniedError(absl::StrCat(
            status.message(), "; run this command as the user of the daemon")));
      }
      reply_.warnings.push_back(absl::StrCat(
          "version ", plugin.version, " of plugin ", plugin.name,
          " is not loaded: ", status.message(),
          ". Its processes go on with the checked file, if that can restore "
          "them"));
      return;
    }
  }

  const CheckOrder& order_;
  FrameSocket& socket_;
  runtime::Catalog catalog_;
  TriedPlugins plugins_;
  std::optional<runtime::UpgradeTrial> trial_;
  CheckerReply reply_;
};

}  // namespace

void DescribePlugin(const std::string& path, FrameSocket& socket) {
  const runtime::AlternateStack stack;
  TellOfCrashes(socket);
  runtime::Catalog catalog;
  TriedPlugins plugins(catalog, "");
  auto description = plugins.LoadFile(path, {});
  CheckerReply reply;
  if (description.ok()) {
    reply.description = *std::move(description);
  } else {
    reply.error = SentError::Of(description.status());
  }
  Reply(socket, reply).IgnoreError();
  // The static destructors of the plugin run, as at the end of a daemon.
}

void CheckProcesses(const CheckOrder& order, FrameSocket& socket) {
  const runtime::AlternateStack stack;
  TellOfCrashes(socket);
  Checker(order, socket).Run();
}

}  // namespace actord::client
