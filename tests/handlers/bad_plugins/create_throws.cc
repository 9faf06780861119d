// A plugin whose second handler cannot be created, so that the first one must
// be destroyed.
#include <actord/plugin.h>

#include <stdexcept>

namespace {

class First : public actord::Handler {
 public:
  static constexpr const char* kCommand = "create_throws.first";
  explicit First(actord::Host host) : host_(host) {
    host_.Log(actord::LogLevel::kDebug, "first made");
  }
  ~First() { host_.Log(actord::LogLevel::kDebug, "first destroyed"); }
  actord::Reply Handle(const actord::Command& /*command*/) { return {}; }

 private:
  actord::Host host_;
};

class Second : public actord::Handler {
 public:
  static constexpr const char* kCommand = "create_throws.second";
  Second() { throw std::runtime_error("no connection to the warehouse"); }
  actord::Reply Handle(const actord::Command& /*command*/) { return {}; }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("create_throws", "1", actord::Handlers<First, Second>);
