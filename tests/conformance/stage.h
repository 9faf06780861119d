// What puppets (puppet.h) share during one script: the names that a script
// gives to processes, and what the processes have seen.
//
// Thread-safety: one thread.
#pragma once

#include <actord/values.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actord::conformance {

class Stage {
 public:
  // The stage to which puppets write, from its constructor to its end.
  static Stage& Current();

  explicit Stage(std::string script);  // its text
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void Name(const std::string& name, const Pid& pid) { pids_[name] = pid; }
  // That of "nobody", if the script has not named it. Precondition: there is
  // one.
  [[nodiscard]] Pid PidOf(const std::string& name) const;
  // The name of a process, or "?".
  [[nodiscard]] std::string NameOf(const Pid& pid) const;
  // With names instead of the texts of PIDs, which differ between runtimes.
  [[nodiscard]] std::string WithNames(std::string_view text) const;

  // With the texts of PIDs instead of "<name>".
  [[nodiscard]] std::string WithPids(std::string_view text) const;

  // What an error says, as far as the script has said it. The words of the
  // runtimes themselves are not compared: "~" stands for them.
  [[nodiscard]] std::string Said(std::string_view text) const;

  // Notes what a process has seen or done.
  void Note(const std::string& name, std::string_view what);
  // A line for each note since the last call: by process, and for each process
  // in the order in which it has come. What two processes do has no order.
  std::string TakeNotes();

  // The calls that puppets have kept, by their topics.
  std::map<std::string, CallId> calls;

 private:
  const std::string script_;
  std::map<std::string, Pid> pids_;
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace actord::conformance
