#include "tests/conformance/puppet.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tests/conformance/stage.h"
#include "tests/conformance/words.h"

namespace actord::conformance {
namespace {

// The code of this name; kUnknown if there is none.
Code CodeOf(std::string_view name) {
  for (int32_t number = ACTORD_OK; number <= ACTORD_UNAUTHENTICATED; ++number) {
    if (CodeName(static_cast<Code>(number)) == name) {
      return static_cast<Code>(number);
    }
  }
  return Code::kUnknown;
}

// "LABEL" or "LABEL/MILLISECONDS", the timeout.
YieldOptions TakeOptions(std::string& label) {
  const size_t slash = label.find('/');
  if (slash == std::string::npos) return {};
  const long ms = std::atol(label.c_str() + slash + 1);
  label.resize(slash);
  return {.timeout = std::chrono::milliseconds(ms)};
}

struct TypeAndMethod {
  std::string type;
  std::string method;
};

// TYPE[.METHOD]
TypeAndMethod TakeType(std::string_view& rest) {
  TypeAndMethod taken{TakeWord(rest), ""};
  if (const size_t dot = taken.type.find('.'); dot != std::string::npos) {
    taken.method = taken.type.substr(dot + 1);
    taken.type.resize(dot);
  }
  return taken;
}

// +NAME or +NAME=VALUE
struct Option {
  std::string name;
  std::string value;
};

// nullopt: the next word is no option.
std::optional<Option> TakeOption(std::string_view& rest) {
  if (!rest.starts_with('+')) return std::nullopt;
  const std::string word = TakeWord(rest).substr(1);
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return Option{word, ""};
  return Option{word.substr(0, equals), word.substr(equals + 1)};
}

const char* NameOf(ExitReason reason) {
  constexpr const char* kNames[] = {"?",          "done",       "failed",
                                    "threw",      "refused",    "cancelled",
                                    "terminated", "no process", "no room"};
  return kNames[static_cast<size_t>(reason)];
}

std::string WithPayload(const Event& event) {
  const Payload payload = event.payload();
  std::string text = Shorten(std::string(payload.bytes));
  if (!payload.content_type.empty() && payload.content_type != "text/plain") {
    text += " of " + std::string(payload.content_type);
  }
  return text.empty() ? text : " \"" + text + "\"";
}

std::string WithError(const Event& event) {
  if (const Error error = event.error()) {
    return " " + std::string(CodeName(error.code)) + " \"" +
           Stage::Current().Said(error.message) + "\"" +
           (error.holder.empty()
                ? ""
                : " held by " + Stage::Current().NameOf(error.holder));
  }
  return WithPayload(event);
}

}  // namespace

void Puppet::Note(std::string_view what) const {
  Stage::Current().Note(name_, what);
}

Status Puppet::Init(std::string_view method, const Payload& input) {
  std::string_view rest = input.bytes;
  name_ = TakeWord(rest);
  Note("init " + std::string(method));
  const std::string verb = TakeWord(rest);
  if (verb == "refuse") return {Code::kOutOfRange, std::string(rest)};
  if (verb == "throw") throw std::runtime_error(std::string(rest));
  if (verb == "do") then_ = rest;
  return {};
}

void Puppet::Close() { Note("close"); }

std::string Puppet::LabelOf(Tag tag) const {
  for (const auto& [label, labelled] : tags_) {
    if (labelled == tag) return label;
  }
  return "?";
}

void Puppet::See(const Event& event) {
  switch (event.type()) {
    case EventType::kCompletion:
      return Note("completion " + LabelOf(event.tag()) + WithError(event));
    case EventType::kMessage: {
      const std::string topic(event.topic());
      std::string what = event.call() != 0 ? "call " : "message ";
      what += Shorten(topic) + WithPayload(event);
      if (!event.from().empty()) {
        what += " from " + Stage::Current().NameOf(event.from());
      }
      if (event.call() != 0) Stage::Current().calls[topic] = event.call();
      return Note(what);
    }
    case EventType::kCancel:
      return Note("cancel" + WithPayload(event));
    case EventType::kExit:
      return Note("exit of " + Stage::Current().NameOf(event.from()) + " by " +
                  (event.tag() == 0 ? "link" : LabelOf(event.tag())) + ": " +
                  NameOf(event.exit_reason()) + WithError(event));
  }
}

void Puppet::Step(Events events, StepOutput& out) {
  Stage::Current().Name(name_, out.self());
  if (!then_.empty()) Perform(std::exchange(then_, {}), out);
  if (BeginsAgain(events, out)) return;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event event = events[i];
    if (event.is_message() && event.topic() == "do") {
      Perform(event.payload().bytes, out);
    } else {
      See(event);
    }
    if (BeginsAgain(events.From(i + 1), out)) return;
  }
}

bool Puppet::BeginsAgain(const Events& unseen, StepOutput& out) {
  if (!again_) return false;
  const auto [method, input] = *std::exchange(again_, std::nullopt);
  out.ContinueAs(input, method, unseen);
  return true;
}

void Puppet::Perform(std::string_view actions, StepOutput& out) {
  while (!actions.empty()) {
    const size_t end = actions.find(';');
    const std::string_view action = actions.substr(0, end);
    actions = end == std::string_view::npos ? std::string_view()
                                            : actions.substr(end + 1);
    if (Trim(action) == "continue") {
      out.Continue();
      then_ = actions;
      return;
    }
    Act(Expand(Trim(action)), out);
  }
}

void Puppet::Act(std::string_view action, StepOutput& out) {
  Stage& stage = Stage::Current();
  std::string_view rest = action;
  const std::string verb = TakeWord(rest);
  if (End(verb, rest, out)) return;
  if (verb == "say") {
    Note("says " + std::string(rest));
  } else if (verb == "send") {  // WHO|@NAME TOPIC TEXT
    const std::string who = TakeWord(rest);
    const std::string topic = TakeWord(rest);
    if (who.front() != '@') {
      out.Send(stage.PidOf(who), topic, Payload::Text(rest));
    } else if (!out.Send(std::string_view(who).substr(1), topic,
                         Payload::Text(rest))) {
      Note("finds no " + who);
    }
  } else if (verb == "publish") {  // TOPIC TEXT, or nothing: without a topic
    const std::string topic = TakeWord(rest);
    out.Publish(topic, Payload::Text(rest));
  } else if (verb == "log") {  // LEVEL TEXT
    const int level = std::stoi(TakeWord(rest));
    out.Log(static_cast<LogLevel>(level), rest);
  } else if (verb == "yield") {  // LABEL[/MS] COMMAND TEXT
    std::string label = TakeWord(rest);
    const YieldOptions options = TakeOptions(label);
    const std::string command = TakeWord(rest);
    tags_[label] = out.Yield(command, stage.WithPids(rest), options);
  } else if (verb == "call") {  // LABEL[/MS] WHO|@NAME TOPIC TEXT
    std::string label = TakeWord(rest);
    const YieldOptions options = TakeOptions(label);
    const std::string who = TakeWord(rest);
    const std::string topic = TakeWord(rest);
    tags_[label] =
        who.front() == '@'
            ? out.Call(std::string_view(who).substr(1), topic,
                       Payload::Text(rest), options)
            : out.Call(stage.PidOf(who), topic, Payload::Text(rest), options);
  } else if (verb == "cancel") {  // LABEL
    out.CancelYield(tags_.at(std::string(rest)));
  } else if (verb == "adopt") {  // LABEL
    adopted_.emplace(rest);
  } else if (verb == "refuse_upgrade") {  // TEXT
    refuses_upgrade_ = rest;
  } else if (verb == "reply" || verb == "error") {
    Reply(action, out);
  } else if (verb == "spawn") {
    Spawn(rest, out);
  } else {
    Tie(verb, rest, out);
  }
}

// reply TOPIC TEXT, or error TOPIC CODE TEXT: answers the last call of this
// topic, no matter which puppet got it.
void Puppet::Reply(std::string_view rest, StepOutput& out) {
  const bool is_error = TakeWord(rest) == "error";
  const CallId call = Stage::Current().calls[TakeWord(rest)];
  if (!is_error) return out.Reply(call, Payload::Text(rest));
  const Code code = CodeOf(TakeWord(rest));
  out.ReplyError(call, code, rest);
}

// spawn TYPE[.METHOD] OPTION... NAME [MORE INPUT], where an option is `+link`,
// `+keep`, `+priority=N` or `+monitor=LABEL`.
void Puppet::Spawn(std::string_view rest, StepOutput& out) {
  const TypeAndMethod of = TakeType(rest);
  ChildOptions options;
  std::string monitor;
  Tag tag = 0;
  while (const auto option = TakeOption(rest)) {
    if (option->name == "link") options.link = true;
    if (option->name == "keep") options.keep_result = true;
    if (option->name == "priority") options.priority = std::stoi(option->value);
    if (option->name == "monitor") {
      monitor = option->value;
      options.monitor = &tag;
    }
  }
  std::string_view name = rest;
  const std::string child = TakeWord(name);
  Stage::Current().Name(child, out.Spawn(of.type, of.method, rest, options));
  if (!monitor.empty()) tags_[monitor] = tag;
}

void Puppet::Tie(std::string_view verb, std::string_view rest,
                 StepOutput& out) {
  std::string label;
  if (verb == "monitor") label = TakeWord(rest);  // LABEL WHO
  const std::string who(rest);
  const Pid pid = Stage::Current().PidOf(who);
  if (verb == "monitor") {
    tags_[label] = out.Monitor(pid);
  } else if (verb == "demonitor") {  // LABEL
    out.Demonitor(tags_.at(who));
  } else if (verb == "link") {  // WHO
    out.Link(pid);
  } else if (verb == "unlink") {  // WHO
    out.Unlink(pid);
  } else {
    throw std::logic_error("no puppet can " + std::string(verb));
  }
}

bool Puppet::End(std::string_view verb, std::string_view rest,
                 StepOutput& out) {
  if (verb == "done") {  // TEXT
    out.Done(rest);
  } else if (verb == "fail") {  // CODE TEXT
    const Code code = CodeOf(TakeWord(rest));
    out.Fail(code, rest);
  } else if (verb == "throw") {  // TEXT
    throw std::runtime_error(std::string(rest));
  } else if (verb == "block") {
    out.Block();
  } else if (verb == "again") {  // INPUT
    again_.emplace("", rest);
  } else if (verb == "again_as") {  // METHOD INPUT
    std::string method = TakeWord(rest);
    again_.emplace(std::move(method), rest);
  } else {
    return false;
  }
  return true;
}

void UncheckedSpawn::Handle(const Command& command, Completion done) {
  std::string_view rest = command.payload().bytes;
  const TypeAndMethod of = TakeType(rest);
  SpawnOptions options;
  std::string name;
  size_t letters = 0;
  while (const auto option = TakeOption(rest)) {
    if (option->name == "name") name = option->value;
    if (option->name == "letters") letters = std::stoul(option->value);
    if (option->name == "priority") options.priority = std::stoi(option->value);
  }
  options.name = name;
  std::string input(rest);
  if (letters > 0) input += " " + std::string(letters, 'x');
  done.CompleteWithSpawn(command.from(), of.type, of.method, input, options);
}

SnapshotResult Puppet::Write() const {
  if (!refuses_upgrade_.empty()) {
    return Status(Code::kAborted, refuses_upgrade_);
  }
  std::string text = name_;
  for (const auto& [label, tag] : tags_) {
    text += " " + label + (adopted_.contains(label) ? "+" : "-") +
            std::to_string(tag);
  }
  return text;
}

Status Puppet::Read(std::string_view method, const RestoreFrom& from,
                    RestoreContext& context) {
  std::string_view rest = from.snapshot.bytes;
  name_ = TakeWord(rest);
  Note("restore " + std::string(method) + " from version " +
       std::string(from.version));
  while (!rest.empty()) {
    const std::string word = TakeWord(rest);
    const size_t sign = word.find_first_of("+-");
    const std::string label = word.substr(0, sign);
    tags_[label] = std::stoull(word.substr(sign + 1));
    if (word[sign] != '+') continue;
    Note((context.AdoptYield(tags_[label]) ? "adopts " : "cannot adopt ") +
         label);
  }
  return {};
}

}  // namespace actord::conformance
