#include "client/plugin_check/plugin_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/plugin_check/checker.h"
#include "client/plugin_check/forked_child.h"
#include "client/plugin_check/store_source.h"

namespace actord::client {
namespace {

using runtime::records::PluginNumber;

// The longest time for opening the plugin, which runs its initialisers.
constexpr absl::Duration kOpenTimeout = absl::Seconds(60);
constexpr absl::Duration kEndPatience = absl::Seconds(1);

std::string TextOf(const ForkedChild::End& end) {
  const std::string where =
      end.what_ran.empty() ? "" : absl::StrCat(" in ", end.what_ran);
  if (end.signal != 0) return absl::StrCat(SignalName(end.signal), where);
  return absl::StrCat("it has ended the program with exit status ",
                      end.exit_status, where);
}

template <typename T>
absl::StatusOr<T> ReceiveFrom(ForkedChild& child, absl::Time deadline,
                              const Cancellation* cancellation) {
  const absl::StatusOr<std::string> bytes =
      child.Receive(deadline, cancellation);
  if (!bytes.ok()) return bytes.status();
  T message;
  absl::Status status = runtime::DecodeFields(*bytes, message);
  if (!status.ok()) return absl::InternalError(status.message());
  return message;
}

uint64_t Crashes(const CheckedType& type) {
  return type.outcomes[static_cast<size_t>(CheckOutcome::kCrashes)] +
         type.outcomes[static_cast<size_t>(CheckOutcome::kTimesOut)];
}

class CheckRun {
 public:
  explicit CheckRun(const PluginCheckOptions& options) : options_(options) {}

  absl::StatusOr<PluginCheck> Run() {
    absl::Status status = Describe();
    if (status.ok()) status = OpenStore();
    while (status.ok() && result_.damage.empty()) {
      absl::StatusOr<StoreMessage> message = NextOfStore();
      status = message.status();
      if (!status.ok() || message->is_end) break;
      if (message->process) status = CheckOne(*std::move(message->process));
    }
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  // The time after `patience`, but not after the deadline of the whole check.
  [[nodiscard]] absl::Time Within(absl::Duration patience) const {
    return std::min(absl::Now() + patience, options_.deadline);
  }
  [[nodiscard]] absl::Status WhyOver() const {
    if (options_.cancellation != nullptr &&
        options_.cancellation->cancelled()) {
      return absl::CancelledError("interrupted");
    }
    if (absl::Now() >= options_.deadline) {
      return absl::DeadlineExceededError(
          "the check is not complete; --timeout sets a longer time");
    }
    return absl::OkStatus();
  }

  absl::Status Describe();
  absl::Status OpenStore();
  // Puts damage into the result.
  absl::StatusOr<StoreMessage> NextOfStore();
  void Begin();
  void AddTypes();
  void AddPresent();
  absl::Status StartChecker();
  absl::Status CheckOne(SentProcess&& sent);
  absl::Status TryOne(const SentProcess& sent, CheckedProcess& checked);
  // Sets the outcome of the process whose history ran when the checker ended.
  void TakeEnd(const absl::Status& why, CheckedProcess& checked);
  [[nodiscard]] std::string VersionOf(PluginNumber number) const;

  const PluginCheckOptions& options_;
  PluginCheck result_;
  std::unique_ptr<ForkedChild> store_;
  StoreHead head_;
  CheckOrder order_;
  // Null: the next process needs a new checker.
  std::unique_ptr<ForkedChild> checker_;
  absl::flat_hash_map<std::string, size_t> type_at_;  // index in result_.types
};

absl::Status CheckRun::Describe() {
  auto child = ForkedChild::Start(
      [this](FrameSocket& socket) { DescribePlugin(options_.file, socket); });
  if (!child.ok()) return child.status();
  auto reply = ReceiveFrom<CheckerReply>(**child, Within(kOpenTimeout),
                                         options_.cancellation);
  if (!reply.ok()) {
    if (absl::Status over = WhyOver(); !over.ok()) return over;
    const ForkedChild::End end = absl::IsUnavailable(reply.status())
                                     ? (*child)->Await(kEndPatience)
                                     : (*child)->Abort();
    return absl::InvalidArgumentError(
        absl::StrCat(options_.file,
                     ": opening it crashes or does not return: ", TextOf(end)));
  }
  if (reply->error) {
    const absl::Status why = reply->error->ToStatus();
    return absl::IsFailedPrecondition(why)
               ? absl::InvalidArgumentError(why.message())
               : why;
  }
  result_.plugin = *std::move(reply->description);
  return absl::OkStatus();
}

absl::StatusOr<StoreMessage> CheckRun::NextOfStore() {
  auto message = ReceiveFrom<StoreMessage>(*store_, options_.deadline,
                                           options_.cancellation);
  if (!message.ok()) {
    if (absl::Status over = WhyOver(); !over.ok()) return over;
    return absl::InternalError(
        absl::StrCat(options_.store, ": the process that reads the store: ",
                     TextOf(store_->Await(kEndPatience))));
  }
  if (message->error) return message->error->ToStatus();
  result_.damage = std::move(message->damage);
  return message;
}

absl::Status CheckRun::OpenStore() {
  const StoreOrder order{.directory = options_.store, .plugin = result_.plugin};
  auto child = ForkedChild::Start(
      [&](FrameSocket& socket) { SendProcesses(order, socket); });
  if (!child.ok()) return child.status();
  store_ = *std::move(child);
  absl::StatusOr<StoreMessage> message = NextOfStore();
  if (!message.ok()) return message.status();
  if (message->head) {
    head_ = *std::move(message->head);
    Begin();
  }
  return absl::OkStatus();
}

std::string CheckRun::VersionOf(PluginNumber number) const {
  for (const runtime::records::Plugin& plugin : head_.plugins) {
    if (plugin.number == number) {
      return absl::StrCat(plugin.name, " ", plugin.version);
    }
  }
  return "";
}

void CheckRun::AddTypes() {
  const std::vector<std::string> wanted = WantedTypes(head_, result_.plugin);
  for (const DescribedType& type : result_.plugin.types) {
    type_at_.emplace(type.name, result_.types.size());
    result_.types.push_back({.name = type.name, .durability = type.durability});
  }
  for (const std::string& name : wanted) {
    if (type_at_.emplace(name, result_.types.size()).second) {
      result_.types.push_back({.name = name});
    }
  }
}

void CheckRun::AddPresent() {
  std::map<PluginNumber, uint64_t> processes;
  for (const LiveCount& count : head_.counts) {
    const auto type = type_at_.find(count.process_type);
    if (type == type_at_.end()) continue;
    result_.types[type->second].processes += count.processes;
    result_.processes += count.processes;
    processes[count.plugin] += count.processes;
  }
  for (const runtime::records::Plugin& plugin : head_.plugins) {
    const std::string sha256 = absl::BytesToHexString(plugin.sha256);
    if (plugin.name == result_.plugin.name &&
        plugin.version == result_.plugin.version &&
        sha256 != result_.plugin.sha256) {
      result_.warnings.push_back(absl::StrCat(
          "the store knows another file of ", plugin.name, " ", plugin.version,
          "; \"actorctl plugin load\" refuses a version that is in force, so "
          "give the new one a new version number"));
    }
    const auto count = processes.find(plugin.number);
    if (count == processes.end()) continue;
    result_.present.push_back(
        {plugin.name, plugin.version, sha256, count->second});
  }
}

void CheckRun::Begin() {
  AddTypes();
  AddPresent();
  order_ = {.file = options_.file,
            .store = options_.store,
            .plugins = head_.plugins,
            .incarnation = head_.incarnation,
            .store_ns = head_.store_ns,
            .limits = options_.limits};
  if (options_.began) options_.began(result_);
}

absl::Status CheckRun::StartChecker() {
  auto child = ForkedChild::Start(
      [this](FrameSocket& socket) { CheckProcesses(order_, socket); });
  if (!child.ok()) return child.status();
  checker_ = *std::move(child);
  const auto reply = ReceiveFrom<CheckerReply>(*checker_, Within(kOpenTimeout),
                                               options_.cancellation);
  if (reply.ok()) {
    return reply->error ? reply->error->ToStatus() : absl::OkStatus();
  }
  if (absl::Status over = WhyOver(); !over.ok()) return over;
  // Another child has opened the file before, without a crash.
  return absl::InternalError(absl::StrCat(
      options_.file, ": opening it again: ", TextOf(checker_->Abort())));
}

void CheckRun::TakeEnd(const absl::Status& why, CheckedProcess& checked) {
  if (absl::IsDeadlineExceeded(why)) {
    const ForkedChild::End end = checker_->Abort();
    checked.outcome = CheckOutcome::kTimesOut;
    checked.why = absl::StrCat(
        "no end after ", absl::FormatDuration(options_.process_timeout),
        end.what_ran.empty() ? "" : absl::StrCat(" in ", end.what_ran));
  } else {
    checked.outcome = CheckOutcome::kCrashes;
    checked.why = TextOf(checker_->Await(kEndPatience));
  }
  checker_.reset();
}

absl::Status CheckRun::TryOne(const SentProcess& sent,
                              CheckedProcess& checked) {
  if (checker_ == nullptr) {
    absl::Status status = StartChecker();
    if (!status.ok()) return status;
  }
  std::string bytes;
  runtime::EncodeFields(sent, bytes);
  checker_->Send(bytes);
  auto reply = ReceiveFrom<CheckerReply>(
      *checker_, Within(options_.process_timeout), options_.cancellation);
  if (!reply.ok()) {
    absl::Status over = WhyOver();
    if (over.ok()) TakeEnd(reply.status(), checked);
    return over;
  }
  for (std::string& warning : reply->warnings) {
    if (std::ranges::find(result_.warnings, warning) ==
        result_.warnings.end()) {
      result_.warnings.push_back(std::move(warning));
    }
  }
  if (reply->error) return reply->error->ToStatus();
  if (!reply->result) return absl::InternalError("the checker has no result");
  runtime::TrialResult& trial = *reply->result;
  checked.outcome = static_cast<CheckOutcome>(trial.kind);
  checked.then = trial.then;
  if (checked.outcome == CheckOutcome::kDiverges) checked.step = trial.step;
  checked.why = std::move(trial.why);
  return absl::OkStatus();
}

absl::Status CheckRun::CheckOne(SentProcess&& sent) {
  CheckedProcess checked{.pid = sent.pid,
                         .process_type = sent.process_type,
                         .from = VersionOf(sent.plugin)};
  CheckedType& type = result_.types[type_at_.at(sent.process_type)];
  absl::Status status;
  if (type.durability.empty()) {
    checked.outcome = CheckOutcome::kFails;
    checked.then = runtime::TrialResult::Then::kQuarantine;
    checked.why = "the file has no such process type";
  } else if (Crashes(type) >= kMaxCrashesOfType) {
    checked.outcome = CheckOutcome::kNotTried;
    checked.why = absl::StrCat(kMaxCrashesOfType,
                               " processes of the type have crashed or timed "
                               "out");
  } else {
    status = TryOne(sent, checked);
  }
  if (!status.ok()) return status;
  ++type.outcomes[static_cast<size_t>(checked.outcome)];
  if (options_.checked) options_.checked(std::move(checked));
  return absl::OkStatus();
}

}  // namespace

static_assert(static_cast<uint8_t>(runtime::TrialResult::Kind::kFails) ==
              static_cast<uint8_t>(CheckOutcome::kFails));

const char* NameOf(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kUpgrades:
      return "UPGRADES";
    case CheckOutcome::kStays:
      return "STAYS";
    case CheckOutcome::kDiverges:
      return "DIVERGES";
    case CheckOutcome::kFails:
      return "FAILS";
    case CheckOutcome::kCrashes:
      return "CRASHES";
    case CheckOutcome::kTimesOut:
      return "TIMES_OUT";
    case CheckOutcome::kNotTried:
      return "NOT_TRIED";
  }
  return "";
}

uint64_t PluginCheck::Count(CheckOutcome outcome) const {
  uint64_t count = 0;
  for (const CheckedType& type : types) {
    count += type.outcomes[static_cast<size_t>(outcome)];
  }
  return count;
}

bool PluginCheck::is_fine() const {
  return Count(CheckOutcome::kUpgrades) + Count(CheckOutcome::kStays) ==
         processes;
}

absl::StatusOr<PluginCheck> CheckPlugin(const PluginCheckOptions& options) {
  return CheckRun(options).Run();
}

}  // namespace actord::client
