// Durable processes that note which version has taken each of their messages: a
// page, of an image type, and a story, of a replay type.
//
// Definitions make versions that go wrong. REFUSES: Restore refuses. METHOD:
// the name of the method, so processes of other versions stay. MISCHIEF:
// Restore does what the notes say, "crash", "exit" or "hang". WITHOUT_STORY:
// there is no story.
#include <actord/plugin.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#ifndef METHOD
#define METHOD "run"
#endif

namespace {

// A message is noted; "ask" also sends one to the process itself, whose text
// tells the version. A call is answered with the version and the notes.
template <actord::Durability D>
class Book : public actord::Process {
 public:
  static constexpr const char* kName =
      D == actord::Durability::kImage ? "page" : "story";
  static constexpr actord::Method kMethods[] = {{METHOD, nullptr}};
  static constexpr actord::Durability kDurability = D;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        out.Reply(event.call(), VERSION "|" + notes_);
        continue;
      }
      if (!event.is_message()) continue;
      notes_ += VERSION ":" + std::string(event.payload().bytes) + " ";
      if (event.topic() == "ask") {
        out.Send(out.self(), "echo", "by " VERSION);
      }
    }
  }
  actord::SnapshotResult Snapshot() const { return notes_; }
  actord::Status Restore(std::string_view, const actord::RestoreFrom& from,
                         actord::RestoreContext&) {
#ifdef REFUSES
    return {actord::Code::kInvalidArgument,
            "cannot read version " + std::string(from.version)};
#else
    notes_ = from.snapshot.bytes;
#ifdef MISCHIEF
    if (notes_.find("crash") != std::string::npos) std::abort();
    if (notes_.find("exit") != std::string::npos) std::_Exit(7);
    while (notes_.find("hang") != std::string::npos) {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
#endif
    return {};
#endif
  }

 private:
  std::string notes_;
};

#ifdef WITHOUT_STORY
// A type that the other versions lack, and that is volatile.
class Leaflet : public actord::Process {
 public:
  static constexpr const char* kName = "leaflet";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  void Step(actord::Events /*events*/, actord::StepOutput& /*out*/) {}
};
#endif

}  // namespace

#ifdef WITHOUT_STORY
ACTORD_EXPORT_PLUGIN(
    "books", VERSION,
    actord::ProcessTypes<Book<actord::Durability::kImage>, Leaflet>);
#else
ACTORD_EXPORT_PLUGIN("books", VERSION,
                     actord::ProcessTypes<Book<actord::Durability::kImage>,
                                          Book<actord::Durability::kReplay>>);
#endif
