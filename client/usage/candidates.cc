#include "client/usage/candidates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "client/usage/complaint.h"

namespace actord::client {
namespace {

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool LooksLikeOption(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

// The option of this name, of the command or of those above it; null: none.
const CLI::Option* FindOption(const CLI::App& command,
                              const std::string& name) {
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->check_name(name) && !option->get_positional()) return option;
    }
  }
  return nullptr;
}

// The positional argument at this place; the last one takes all that follow if
// it takes many. Null: there is none.
const CLI::Option* Positional(const CLI::App& command, size_t place) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    last = option;
    if (place-- == 0) return option;
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

// Whether the value may be a file, or a payload that begins with @.
bool TakesFile(const CLI::Option& option, std::string_view beginning) {
  static const auto& kinds = *new std::set<std::string, std::less<>>{
      "FILE", "PATH", "DIR", "NEWDIR", "PROGRAM"};
  static const auto& payloads =
      *new std::set<std::string, std::less<>>{"INPUT", "PAYLOAD", "RESULT"};
  const std::string kind =
      option.get_positional() ? option.get_name() : option.get_type_name();
  return kinds.contains(kind) ||
         (beginning.starts_with('@') && payloads.contains(kind));
}

LiveValues LiveValuesOf(const CLI::App& command, const CLI::Option& option,
                        std::string_view beginning) {
  static const auto& kinds = *new std::map<std::string, LiveValues>{
      {"PID", LiveValues::kPids},
      {"--pid", LiveValues::kPids},
      {"--parent", LiveValues::kPids},
      {"--send-to", LiveValues::kPids},
      {"TYPE", LiveValues::kProcessTypes},
      {"--type", LiveValues::kProcessTypes},
      {"--submit", LiveValues::kProcessTypes},
      {"--start", LiveValues::kProcessTypes},
      {"--method", LiveValues::kMethods},
      {"TOKEN", LiveValues::kTokens},
      {"--command", LiveValues::kExternalCommands},
      {"COMMAND", LiveValues::kExternalCommands},
      {"--context", LiveValues::kContexts}};
  const std::string name = option.get_name();
  if (name == "NAME" && command.get_parent() != nullptr &&
      command.get_parent()->get_name() == "context") {
    return LiveValues::kContexts;
  }
  const auto found = kinds.find(name);
  if (found != kinds.end()) return found->second;
  return TakesFile(option, beginning) ? LiveValues::kFiles : LiveValues::kNone;
}

// The values of an option whose type lists them, as in "drain|now".
void AddChoices(const CLI::Option& option, Completion& completion) {
  const std::string choices = option.get_type_name();
  if (choices == "LEVEL" || option.get_name() == "LEVEL") {
    for (const char* level : {"debug", "info", "warning", "error"}) {
      completion.known.push_back({level, ""});
    }
  }
  if (choices.find('|') == std::string::npos) return;
  for (size_t begin = 0; begin <= choices.size();) {
    const size_t end = std::min(choices.find('|', begin), choices.size());
    completion.known.push_back({choices.substr(begin, end - begin), ""});
    begin = end + 1;
  }
}

void AddValues(const CLI::App& command, const CLI::Option& option,
               Completion& completion) {
  AddChoices(option, completion);
  completion.live = LiveValuesOf(command, option, completion.beginning);
}

void AddCommands(const CLI::App& command, Completion& completion) {
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    completion.known.push_back({one->get_name(), one->get_description()});
  }
}

void AddOptions(const CLI::App& command, Completion& completion) {
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const auto& name : option->get_lnames()) {
        completion.known.push_back({"--" + name, option->get_description()});
      }
    }
  }
}

// The words before the last one.
class Reader {
 public:
  Reader(const CLI::App& app, Completion& completion)
      : app_(app), command_(&app), completion_(completion) {}

  void Read(const std::string& word) {
    if (waiting_ != nullptr) {
      Note(*waiting_, word);
      waiting_ = nullptr;
    } else if (!only_arguments_ && LooksLikeOption(word)) {
      ReadOption(word);
    } else if (const CLI::App* next = Next(word)) {
      command_ = next;
    } else {
      if (places_ == 0 && !has_start_) completion_.process_type = word;
      ++places_;
    }
  }

  void Complete(const std::string& word) {
    completion_.beginning = word;
    const size_t equals = word.find('=');
    if (waiting_ != nullptr) {
      AddValues(*command_, *waiting_, completion_);
    } else if (!only_arguments_ && LooksLikeOption(word) &&
               equals != std::string::npos) {
      completion_.before = word.substr(0, equals + 1);
      completion_.beginning = word.substr(equals + 1);
      const auto* option = FindOption(*command_, word.substr(0, equals));
      if (option != nullptr) AddValues(*command_, *option, completion_);
    } else if (!only_arguments_ && word.starts_with('-')) {
      AddOptions(*command_, completion_);
    } else if (is_help_) {
      AddCommands(*command_, completion_);
    } else if (places_ == 0 && !command_->get_subcommands(nullptr).empty()) {
      AddCommands(*command_, completion_);
    } else if (const auto* argument = Positional(*command_, places_)) {
      AddValues(*command_, *argument, completion_);
    }
  }

 private:
  void ReadOption(const std::string& word) {
    if (word == "--") {
      only_arguments_ = true;
      return;
    }
    const size_t equals = word.find('=');
    const auto* option = FindOption(*command_, word.substr(0, equals));
    if (option == nullptr || !TakesValue(*option)) return;
    if (equals == std::string::npos) {
      waiting_ = option;
    } else {
      Note(*option, word.substr(equals + 1));
    }
  }

  void Note(const CLI::Option& option, const std::string& value) {
    if (option.get_name() == "--start") {
      completion_.process_type = value;
      has_start_ = true;
    }
    if (FindOption(app_, option.get_name()) != &option) return;
    completion_.global.push_back(option.get_name());
    completion_.global.push_back(value);
  }

  const CLI::App* Next(const std::string& word) {
    if (places_ != 0) return nullptr;
    const CLI::App* const next = FindCommand(*command_, word);
    // Behind "help" stand the words of any command.
    if (command_ == &app_ && !is_help_ && word == "help") {
      is_help_ = true;
      return &app_;
    }
    return next;
  }

  const CLI::App& app_;
  const CLI::App* command_;
  Completion& completion_;
  const CLI::Option* waiting_ = nullptr;  // for its value
  size_t places_ = 0;                     // positional arguments
  bool only_arguments_ = false;           // behind "--"
  bool is_help_ = false;
  bool has_start_ = false;  // the type is the value of --start
};

}  // namespace

Completion CompletionOf(const CLI::App& app,
                        const std::vector<std::string>& words) {
  Completion completion;
  if (words.empty()) return completion;
  Reader reader(app, completion);
  for (size_t i = 0; i + 1 < words.size(); ++i) reader.Read(words[i]);
  reader.Complete(words.back());
  return completion;
}

}  // namespace actord::client
