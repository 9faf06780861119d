// recipe: publish
#include <actord/plugin.h>

#include <string>

namespace {

// Publishes each new temperature of the room that its input names.
class Thermometer : public actord::Process {
 public:
  static constexpr const char* kName = "thermometer";
  static constexpr actord::Method kMethods[] = {{"run", "Of one room."}};

  actord::Status Init(std::string_view /*method*/, actord::Payload room) {
    topic_ = "temperature/" + std::string(room.bytes);
    if (topic_.size() <= actord::kMaxLabelBytes) return {};
    return {actord::Code::kInvalidArgument, "a room of too many bytes"};
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() != "measured") continue;
      if (event.payload().bytes == last_) continue;
      last_ = event.payload().bytes;
      out.Publish(topic_, actord::Payload::Text(last_));
    }
  }

 private:
  std::string topic_;
  std::string last_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("thermometer", "1.0.0", actord::ProcessTypes<Thermometer>);
// end
