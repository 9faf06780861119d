// crasher: a plugin that crashes. Its input, or a payload, says how: see Crash.
// The environment variable CRASHER says that it crashes while it is loaded or
// unloaded: "static", "create", "destroy", "unload".
#include <actord/plugin.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

// The code below is wrong on purpose: no sanitizer must end the program first.
#define ACTORD_WRONG \
  [[gnu::noinline]] __attribute__((no_sanitize("undefined", "address")))

namespace {

ACTORD_WRONG void CrashByNull() {
  int* volatile nowhere = nullptr;
  *static_cast<volatile int*>(nowhere) = 1;
}

ACTORD_WRONG void CrashByCallOfNull() {
  void (*volatile nothing)() = nullptr;
  nothing();
  // Keeps the call from being the last thing that this function does.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

ACTORD_WRONG int CrashByOverflow(int depth) {
  volatile char frame[256];
  frame[depth & 255] = static_cast<char>(depth);
  return depth < 0 ? 0 : CrashByOverflow(depth + 1) + frame[depth & 127];
}

ACTORD_WRONG void CrashByDivision() {
  const volatile int zero = 0;
  volatile int result = 1 / zero;
  static_cast<void>(result);
}

// A page behind the end of a file.
ACTORD_WRONG void CrashByMissingPage() {
  const int file = memfd_create("crasher", MFD_CLOEXEC);
  auto* const page = static_cast<volatile char*>(
      mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
  static_cast<void>(page[0]);
}

// Waits for the second caller, so that both crash at the same time.
void CrashTogether() {
  static std::atomic<int> callers = 0;
  ++callers;
  while (callers < 2) std::this_thread::yield();
  CrashByNull();
}

[[gnu::noinline]] void Crash(std::string_view how) {
  if (how == "null") CrashByNull();
  if (how == "call null") CrashByCallOfNull();
  if (how == "overflow") CrashByOverflow(0);
  if (how == "division") CrashByDivision();
  if (how == "missing page") CrashByMissingPage();
  if (how == "illegal") __builtin_trap();
  if (how == "together") CrashTogether();
  if (how == "abort") std::abort();
  if (how == "thread") std::thread(CrashByNull).join();
}

void CrashIfToldTo(std::string_view when) {
  const char* const told = std::getenv("CRASHER");
  if (told != nullptr && told == when) CrashByNull();
}

struct Loaded {
  Loaded() { CrashIfToldTo("static"); }
  ~Loaded() { CrashIfToldTo("unload"); }
};
const Loaded loaded;

class Crasher : public actord::Process {
 public:
  static constexpr const char* kName = "crasher";
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr actord::Method kMethods[] = {
      {"init", "Crashes in Init as its input says."},
      {"step", "Crashes in Step."},
      {"later", "Crashes in the step after a pause, again after a restart."},
      {"close", "Crashes in Close."},
      {"inline", "Crashes in an inline handler."},
      {"pooled", "Crashes in a pooled handler."},
      {"again", "Crashes in a handler that is called again after a restart."},
  };

  void Init(std::string_view method, actord::Payload input) {
    method_ = method;
    how_ = input.bytes;
    if (method == "init") Crash(how_);
  }
  // Crashes at the first message, so that the start has been answered.
  void Step(actord::Events events, actord::StepOutput& out) {
    if (events.empty()) return;
    if (method_ == "step") Crash(how_);
    if (method_ == "close") return out.Done();
    if (method_ == "later") {
      if ((*events.begin()).is_completion()) Crash(how_);
      out.Yield("timer.sleep", R"({"duration_ms":100})");
      return;
    }
    out.Yield("crasher." + method_, how_);
  }
  actord::SnapshotResult Snapshot() const { return method_ + "\n" + how_; }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    const std::string_view text = from.snapshot.bytes;
    const size_t end = text.find('\n');
    method_ = text.substr(0, end);
    how_ = text.substr(end + 1);
    return actord::Status::Ok();
  }
  void Close() {
    if (method_ == "close") Crash(how_);
  }

 private:
  std::string method_;
  std::string how_;
};

class InlineHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "crasher.inline";
  InlineHandler() { CrashIfToldTo("create"); }
  ~InlineHandler() { CrashIfToldTo("destroy"); }
  actord::Reply Handle(const actord::Command& command) {
    Crash(command.payload().bytes);
    return {};
  }
};

class PooledHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "crasher.pooled";
  static constexpr actord::HandlerMode kMode = actord::HandlerMode::kPooled;
  actord::Reply Handle(const actord::Command& command) {
    Crash(command.payload().bytes);
    return {};
  }
};

class AgainHandler : public PooledHandler {
 public:
  static constexpr const char* kCommand = "crasher.again";
  static constexpr bool kIdempotent = true;
};

}  // namespace

ACTORD_EXPORT_PLUGIN(
    "crasher", "1.4.0", actord::ProcessTypes<Crasher>,
    actord::Handlers<InlineHandler, PooledHandler, AgainHandler>);
