// A ledger: records each number once and in order, in any sequence of versions
// of the plugin.
#include <actord/plugin.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

// Would be one object for all versions if the plugins were not built as they
// should be.
struct __attribute__((visibility("default"))) Shared {
  // Written by all workers.
  static inline std::atomic<int> begun = 0;
};

namespace {

#ifdef SLOW
// Reports through a file that it is being opened, and waits for another file.
const bool kMayGoOn = [] {
  std::ofstream("opening").close();
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!std::filesystem::exists("go_on")) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}();
#endif

// Messages: "add" with "SENDER NUMBER", where each sender counts from 1; "pay"
// yields payment.charge; "adopt" makes the next version take that yield over;
// "busy" and "idle" begin and end a bad moment for a snapshot; "which" asks the
// handler of this plugin. A call "state" is answered with the whole state.
class Ledger : public actord::Process {
 public:
  static constexpr const char* kName = "ledger";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view, const actord::Payload&) { ++Shared::begun; }

  actord::SnapshotResult Snapshot() const {
    if (busy_) return actord::SnapshotResult::NotNow();
    std::ostringstream text;
    text << count_ << ' ' << errors_ << ' ' << adopt_ << ' ' << tag_;
    for (const auto& [sender, number] : last_) {
      text << ' ' << sender << ' ' << number;
    }
    return text.str();
  }
#ifndef WITHOUT_RESTORE
  actord::Status Restore(std::string_view, const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
#ifdef REFUSES
    static_cast<void>(context);
    return {actord::Code::kInvalidArgument,
            "cannot read version " + std::string(from.version)};
#else
    std::istringstream text{std::string(from.snapshot.bytes)};
    text >> count_ >> errors_ >> adopt_ >> tag_;
    std::string sender;
    int number = 0;
    while (text >> sender >> number) last_[sender] = number;
    if (adopt_ && tag_ != 0 && !context.AdoptYield(tag_)) ++errors_;
    ++Shared::begun;
    return {};
#endif
  }
#endif

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        Complete(event);
      } else if (event.call() != 0) {
        out.Reply(event.call(), State());
      } else if (event.topic() == "add") {
        Add(std::string(event.payload().bytes));
      } else if (event.topic() == "pay") {
        tag_ = out.Yield("payment.charge", "10");
      } else if (event.topic() == "which") {
        which_ = out.Yield("versions.which");
      } else if (event.topic() == "adopt") {
        adopt_ = true;
      } else if (event.topic() == "stop") {
        out.Done(State());
      } else {
        busy_ = event.topic() == "busy";
      }
    }
  }

 private:
  void Add(const std::string& message) {
    std::istringstream text(message);
    std::string sender;
    int number = 0;
    text >> sender >> number;
    int& last = last_[sender];
    if (number != last + 1) ++errors_;
    last = number;
    ++count_;
  }
  void Complete(const actord::Event& event) {
    const std::string result(event.payload().bytes);
    if (event.tag() == tag_) {
      paid_ = result;
    } else if (event.tag() == which_) {
      answer_ = result;
    } else {
      ++errors_;
    }
  }
  std::string State() const {
    return R"({"version": ")" VERSION R"(", "count": )" +
           std::to_string(count_) + R"(, "errors": )" +
           std::to_string(errors_) + R"(, "begun": )" +
           std::to_string(Shared::begun.load()) + R"(, "paid": ")" + paid_ +
           R"(", "which": ")" + answer_ + R"("})";
  }

  std::map<std::string, int> last_;
  int count_ = 0;
  int errors_ = 0;
  bool adopt_ = false;
  bool busy_ = false;
  actord::Tag tag_ = 0;
  actord::Tag which_ = 0;
  std::string paid_;
  std::string answer_;
};

class Which : public actord::Handler {
 public:
  static constexpr const char* kCommand = "versions.which";
  actord::Reply Handle(const actord::Command&) {
    return actord::Reply(VERSION);
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("versions", VERSION, actord::ProcessTypes<Ledger>,
                     actord::Handlers<Which>);
