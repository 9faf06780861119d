// A process type and a command of it, in C++.
#include <actord/plugin.h>

#include <string>

namespace {

class Greeter : public actord::Process {
 public:
  static constexpr const char* kName = "greeter";
  static constexpr actord::Method kMethods[] = {
      {"run", "Ends with a greeting for its input."}};

  void Init(std::string_view /*method*/, actord::Payload input) {
    name_ = input.bytes;
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    if (events.empty()) {
      out.Yield("greeter.greet", name_);
      return out.Block();
    }
    out.Done(events[0].payload());
  }

 private:
  std::string name_;
};

class Greet : public actord::Handler {
 public:
  static constexpr const char* kCommand = "greeter.greet";
  actord::Reply Handle(const actord::Command& command) {
    return actord::Reply::Text("Hello, " +
                               std::string(command.payload().bytes) + "!");
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("greeter", "2.1", actord::ProcessTypes<Greeter>,
                     actord::Handlers<Greet>);
