// echo: the smallest process type. It ends in one of three ways: with a result
// or a failure in its first step, or by refusing to start.
#include <actord/plugin.h>

#include <string>

namespace {

class Echo : public actord::Process {
 public:
  static constexpr const char* kName = "echo";
  static constexpr const char* kDoc = "Gives its input back.";
  static constexpr actord::Method kMethods[] = {
      {"run", "Ends with its input as the result."},
      {"fail", "Fails with its input as the message."},
      {"refuse", "Refuses to start, with its input as the message."},
  };

  actord::Status Init(std::string_view method, actord::Payload input) {
    if (method == "refuse") {
      return {actord::Code::kInvalidArgument, std::string(input.bytes)};
    }
    fail_ = method == "fail";
    bytes_ = input.bytes;
    content_type_ = input.content_type;
    return actord::Status::Ok();
  }

  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    if (fail_) {
      out.Fail(actord::Code::kFailedPrecondition, bytes_);
    } else {
      out.Done({bytes_, content_type_});
    }
  }

 private:
  bool fail_ = false;
  // Copies, because the input is only valid during Init.
  std::string bytes_;
  std::string content_type_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("echo", "1.0.0", actord::ProcessTypes<Echo>);
