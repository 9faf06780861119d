// Throws from the function that the method names. The SDK catches every
// exception except one out of Close.
#include <actord/plugin.h>

#include <stdexcept>
#include <string>

namespace {

class Throws : public actord::Process {
 public:
  static constexpr const char* kName = "throws";
  static constexpr actord::Method kMethods[] = {
      {"init", "Throws in Init."},
      {"step", "Throws in Step."},
      {"step_int", "Throws what is no std::exception in Step."},
      {"close", "Ends well and throws in Close."},
      {"handler", "Yields to a handler that throws; ends with its error."},
      {"later", "The same with an asynchronous handler."},
  };

  void Init(std::string_view method, actord::Payload /*input*/) {
    if (method == "init") throw std::runtime_error("thrown in Init");
    method_ = method;
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        return out.Done(std::string(CodeName(event.error().code)) + ": " +
                        std::string(event.error().message));
      }
    }
    if (method_ == "step") throw std::runtime_error("thrown in Step");
    if (method_ == "step_int") throw 42;
    if (method_ == "close") return out.Done("done");
    out.Yield(method_ == "later" ? "throws.later" : "throws.now");
    out.Block();
  }

  void Close() {
    if (method_ == "close") throw std::runtime_error("thrown in Close");
  }

 private:
  std::string method_;
};

class Now : public actord::Handler {
 public:
  static constexpr const char* kCommand = "throws.now";
  actord::Reply Handle(const actord::Command& /*command*/) {
    throw std::runtime_error("thrown in a handler");
  }
};

class Later : public actord::Handler {
 public:
  static constexpr const char* kCommand = "throws.later";
  void Handle(const actord::Command& /*command*/, actord::Completion /*done*/) {
    throw std::runtime_error("thrown in an asynchronous handler");
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("throws", "1", actord::ProcessTypes<Throws>,
                     actord::Handlers<Now, Later>);
