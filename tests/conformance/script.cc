#include "tests/conformance/script.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/conformance/stage.h"
#include "tests/conformance/words.h"

namespace actord::conformance {
namespace {

// Plays the commands of one script.
class Player {
 public:
  Player(const std::string& script, std::unique_ptr<Driver> driver)
      : stage_(script), driver_(std::move(driver)) {
    stage_.Name("nobody", driver_->Nobody());
  }

  // Carries one line out and lets it run; returns what came of it.
  std::string Play(std::string_view line) {
    constexpr std::string_view kAnd = " && ";
    std::string text;
    for (bool is_last = false; !is_last;) {
      const size_t end = line.find(kAnd);
      is_last = end == std::string_view::npos;
      std::string_view rest = line.substr(0, end);
      if (!is_last) line.remove_prefix(end + kAnd.size());
      const std::string verb = TakeWord(rest);
      const std::string said = Act(verb, rest);
      if (!said.empty()) text += stage_.WithNames(said) + "\n";
    }
    driver_->Settle();
    return stage_.TakeNotes() + text;
  }

 private:
  // What it says beside what the puppets note.
  std::string Act(const std::string& verb, std::string_view rest) {
    if (verb == "submit") return Submit(rest);
    if (verb == "advance") {  // MILLISECONDS
      driver_->Advance(std::stoull(std::string(rest)));
      return "";
    }
    if (verb == "held") return Held();
    if (verb == "complete" || verb == "fail") return Complete(verb, rest);
    if (verb == "upgrade") {  // VERSION
      const auto all = driver_->Upgrade(std::stoi(std::string(rest)));
      return std::to_string(all.upgraded) + " upgraded, " +
             std::to_string(all.declined) + " declined";
    }
    if (verb == "published") return Published();
    if (verb == "logged") return Logged();
    if (verb == "dead_letters") return std::to_string(driver_->DeadLetters());
    const std::string word = TakeWord(rest);
    if (verb == "holder") {  // NAME
      const Pid pid = driver_->HolderOf(word);
      return pid.empty() ? "nobody" : stage_.NameOf(pid);
    }
    return ActOn(verb, word, rest);
  }

  std::string ActOn(const std::string& verb, const std::string& name,
                    std::string_view rest) {
    const Pid pid = stage_.PidOf(name);
    const auto refused = [](bool is_ok) { return is_ok ? "" : "refused"; };
    if (verb == "do") {  // WHO ACTIONS
      return refused(driver_->Send(pid, "do", std::string(rest)));
    }
    if (verb == "cancel") {  // WHO REASON
      return refused(driver_->Cancel(pid, std::string(rest)));
    }
    if (verb == "terminate") {  // WHO REASON
      return refused(driver_->Terminate(pid, std::string(rest)));
    }
    if (verb == "outcome") {  // WHO
      const auto end = driver_->OutcomeOf(pid);
      return end ? end->first + " " + TextOf(end->second) : "lives";
    }
    const std::string topic = TakeWord(rest);
    if (verb == "send") {  // WHO TOPIC TEXT
      return refused(driver_->Send(pid, topic, std::string(rest)));
    }
    if (verb == "call") {  // WHO TOPIC TEXT
      const auto answer = driver_->Call(pid, topic, std::string(rest));
      return answer ? TextOf(*answer) : "no answer yet";
    }
    throw std::logic_error("there is no command " + verb);
  }

  // submit TYPE[.METHOD] NAME [MORE INPUT]
  std::string Submit(std::string_view rest) {
    std::string type = TakeWord(rest), method;
    if (const size_t dot = type.find('.'); dot != std::string::npos) {
      method = type.substr(dot + 1);
      type.resize(dot);
    }
    const auto submission = driver_->Submit(type, method, std::string(rest));
    if (submission.pid.empty()) {
      return TextOf(submission.why);
    }
    stage_.Name(TakeWord(rest), submission.pid);
    return "";
  }

  std::string Held() {
    std::string text;
    for (const Driver::Held& held : driver_->AllHeld()) {
      text += (text.empty() ? "" : "\n") + Shorten(held.command) + " of " +
              stage_.NameOf(held.pid) + " \"" + held.payload + "\"";
    }
    return text.empty() ? "nothing" : text;
  }

  std::string Published() {
    std::string text;
    for (const Driver::Publication& one : driver_->TakePublished()) {
      text += (text.empty() ? "" : "\n") + Shorten(one.topic) + " by " +
              stage_.NameOf(one.from) + " \"" + Shorten(one.text) + "\"";
    }
    return text.empty() ? "nothing" : text;
  }

  std::string Logged() {
    std::string text;
    for (const Driver::Line& line : driver_->TakeLogged()) {
      text += (text.empty() ? "" : "\n") + stage_.NameOf(line.from) + " " +
              std::to_string(line.level) + " \"" + Shorten(line.text) + "\"" +
              (line.step_failed ? " in a failed step" : "");
    }
    return text.empty() ? "nothing" : text;
  }

  // complete COMMAND TEXT, or fail COMMAND TEXT: then with ABORTED
  std::string Complete(const std::string& verb, std::string_view rest) {
    const std::string command = TakeWord(rest);
    const std::string text(rest);
    const bool is_ok = verb == "complete"
                           ? driver_->Complete(command, text)
                           : driver_->Fail(command, Code::kAborted, text);
    return is_ok ? "" : "refused";
  }

  // "TEXT", or "CODE TEXT" of an error.
  std::string TextOf(const Driver::Answer& answer) {
    if (answer.code == Code::kOk) return Shorten(answer.text);
    return std::string(CodeName(answer.code)) + " " + stage_.Said(answer.text);
  }

  Stage stage_;  // outlives the driver, whose processes write to it
  const std::unique_ptr<Driver> driver_;
};

// The script without the answers.
std::string Commands(const std::string& text) {
  std::string commands;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("  ")) commands += line + "\n";
  }
  return commands;
}

}  // namespace

ScriptFile Split(const std::string& text) {
  ScriptFile file;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) file.scripts.push_back({line.substr(3), ""});
    std::string& part =
        file.scripts.empty() ? file.opening : file.scripts.back().text;
    part += line + "\n";
  }
  return file;
}

std::string Play(const Script& script,
                 const std::function<std::unique_ptr<Driver>()>& make) {
  Player player(Commands(script.text), make());
  std::string played;
  std::istringstream in(script.text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  ")) continue;  // what had come of it before
    played += line + "\n";
    if (line.empty() || line.starts_with("#") || line.starts_with("== ")) {
      continue;
    }
    std::istringstream answers(player.Play(line));
    for (std::string answer; std::getline(answers, answer);) {
      played += "  " + answer + "\n";
    }
  }
  return played;
}

}  // namespace actord::conformance
