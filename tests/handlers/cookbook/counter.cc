// recipe: counter
#include <actord/plugin.h>

#include <cstdint>
#include <string>

namespace {

// Counts "visit". A call of either topic is answered with the count.
class Visits : public actord::Process {
 public:
  static constexpr const char* kName = "visits";
  static constexpr actord::Method kMethods[] = {{"run", "Begins with 0."}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;  // raise it if State changes

  struct State {
    int64_t visits = 0;
  };
  State state;  // the only data member

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "visit") ++state.visits;
      if (event.call() != 0) {
        out.Reply(event.call(), std::to_string(state.visits));
      }
    }
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("visits", "1.0.0", actord::ProcessTypes<Visits>);
// end
