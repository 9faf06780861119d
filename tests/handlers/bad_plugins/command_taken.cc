// A plugin with a command that is built in.
#include <actord/plugin.h>

namespace {

class Sleep : public actord::Handler {
 public:
  static constexpr const char* kCommand = "timer.sleep";
  actord::Reply Handle(const actord::Command& /*command*/) { return {}; }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("command_taken", "1", actord::Handlers<Sleep>);
