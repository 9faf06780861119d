// recipe: handler
#include <actord/coroutine.h>
#include <actord/excerpt.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace {
using namespace std::chrono_literals;

// Gives the free bytes of the file system at a path. The system call may block,
// so the command runs on the pool of blocking threads.
class DiskFree : public actord::Handler {
 public:
  static constexpr const char* kCommand = "disk.free";
  static constexpr actord::HandlerMode kMode = actord::HandlerMode::kPooled;
  static constexpr bool kPure = true;  // has no effect but the answer

  actord::Reply Handle(const actord::Command& command) {
    const std::string path(command.payload().bytes);
    std::error_code error;
    const auto space = std::filesystem::space(path, error);
    if (error) {
      return {actord::Code::kNotFound,
              actord::Excerpt(path) + ": " + error.message()};
    }
    return actord::Reply::Text(std::to_string(space.available));
  }
};

// Ends with the free bytes at the path in its input.
class DiskCheck : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "disk_check";
  static constexpr actord::Method kMethods[] = {{"run", "Checks a disk."}};

  actord::Task<actord::Result<>> Main(actord::Context& ctx,
                                      actord::OwnedPayload path) {
    co_return co_await ctx.Run("disk.free", path, {.timeout = 10s});
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("disks", "1.0.0", actord::ProcessTypes<DiskCheck>,
                     actord::Handlers<DiskFree>);
// end
