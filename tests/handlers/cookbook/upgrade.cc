// recipe: upgrade
#include <actord/commands.h>
#include <actord/plugin.h>

#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>

namespace {
using namespace std::chrono_literals;

// Adds up sales, and ends with their sum when the shop closes, after 8 hours.
// Version 1 counted whole euros; version 2 counts cents.
class Till : public actord::Process {
 public:
  static constexpr const char* kName = "till";
  static constexpr actord::Method kMethods[] = {{"run", "Begins with 0."}};

  actord::SnapshotResult Snapshot() const {
    return std::to_string(cents_) + " " + std::to_string(closing_);
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    std::istringstream text{std::string(from.snapshot.bytes)};
    if (!(text >> cents_ >> closing_)) {
      return {actord::Code::kInvalidArgument,
              "the snapshot is not two numbers"};
    }
    if (from.version == "1.0.0") cents_ *= 100;
    // The timer that the old version has started goes on.
    if (!context.AdoptYield(closing_)) closing_ = 0;
    return {};
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    if (closing_ == 0) closing_ = out.Yield(actord::commands::Sleep(8h));
    for (const actord::Event event : events) {
      if (event.is_completion() && event.tag() == closing_) {
        out.Done(std::to_string(cents_));
      }
      if (event.topic() == "sale") Add(event.payload().bytes);
    }
  }

 private:
  void Add(std::string_view text) {
    int64_t cents = 0;
    std::from_chars(text.data(), text.data() + text.size(), cents);
    cents_ += cents;
  }

  int64_t cents_ = 0;
  actord::Tag closing_ = 0;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("tills", "2.0.0", actord::ProcessTypes<Till>);
// end
