// Version 1 of the plugin of upgrade.cc: it counts whole euros.
#include <actord/commands.h>
#include <actord/plugin.h>

#include <charconv>
#include <cstdint>
#include <string>

namespace {
using namespace std::chrono_literals;

class OldTill : public actord::Process {
 public:
  static constexpr const char* kName = "till";
  static constexpr actord::Method kMethods[] = {{"run", "Begins with 0."}};

  actord::SnapshotResult Snapshot() const {
    return std::to_string(euros_) + " " + std::to_string(closing_);
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    if (closing_ == 0) closing_ = out.Yield(actord::commands::Sleep(8h));
    for (const actord::Event event : events) {
      if (event.is_completion()) out.Done(std::to_string(euros_));
      if (event.topic() == "sale") {
        const std::string_view text = event.payload().bytes;
        int64_t euros = 0;
        std::from_chars(text.data(), text.data() + text.size(), euros);
        euros_ += euros;
      }
    }
  }

 private:
  int64_t euros_ = 0;
  actord::Tag closing_ = 0;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("tills", "1.0.0", actord::ProcessTypes<OldTill>);
