// Durable processes that note which version has taken each of their messages: a
// page, of an image type, and a story, of a replay type.
#include <actord/plugin.h>

#include <string>

namespace {

// A message is noted; "ask" also sends one to the process itself, whose text
// tells the version. A call is answered with the version and the notes.
template <actord::Durability D>
class Book : public actord::Process {
 public:
  static constexpr const char* kName =
      D == actord::Durability::kImage ? "page" : "story";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
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
    return {};
#endif
  }

 private:
  std::string notes_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("books", VERSION,
                     actord::ProcessTypes<Book<actord::Durability::kImage>,
                                          Book<actord::Durability::kReplay>>);
