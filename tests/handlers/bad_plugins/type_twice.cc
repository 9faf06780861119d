// A plugin with the same process type twice.
#include <actord/plugin.h>

namespace {

class Twice : public actord::Process {
 public:
  static constexpr const char* kName = "twice";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  void Step(actord::Events /*events*/, actord::StepOutput& out) { out.Done(); }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("type_twice", "1", actord::ProcessTypes<Twice, Twice>);
