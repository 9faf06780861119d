// A plugin with a process type that another plugin has.
#include <actord/plugin.h>

namespace {

class Echo : public actord::Process {
 public:
  static constexpr const char* kName = "echo";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  void Step(actord::Events /*events*/, actord::StepOutput& out) { out.Done(); }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("type_taken", "1", actord::ProcessTypes<Echo>);
