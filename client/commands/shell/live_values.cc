#include "client/commands/shell/live_values.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "client/contexts/context_file.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

constexpr int kMaxListed = 200;
constexpr size_t kMaxAboutCharacters = 60;

// The shell would take others for its own, and a process may have chosen them.
bool IsSafe(std::string_view value) {
  return !value.empty() &&
         std::all_of(value.begin(), value.end(), [](unsigned char c) {
           return c < 0x80 &&
                  (isalnum(c) != 0 ||
                   std::string_view("._:/@+-").find(static_cast<char>(c)) !=
                       std::string_view::npos);
         });
}

using Candidates = std::vector<Candidate>;

void AddProcessTypes(Invocation& invocation, Candidates& found) {
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (!status.ok()) return;
  for (const auto& type : status->process_types()) {
    found.push_back({type.name(), "of plugin " + type.plugin()});
  }
}

void AddMethods(Invocation& invocation, const std::string& type_name,
                Candidates& found) {
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (!status.ok()) return;
  for (const auto& type : status->process_types()) {
    if (type.name() != type_name) continue;
    for (const auto& method : type.methods()) found.push_back({method, ""});
  }
}

void AddPids(Invocation& invocation, const std::string& beginning,
             Candidates& found) {
  v1::ListNamesRequest names;
  names.set_page_size(kMaxListed);
  if (beginning.starts_with('@')) names.set_prefix(beginning.substr(1));
  if (const auto listed =
          invocation.client().ListNames(names, invocation.Quick());
      listed.ok()) {
    for (const auto& name : listed->names()) {
      found.push_back({"@" + name.name(), name.pid()});
    }
  }
  if (beginning.starts_with('@')) return;
  v1::ListProcessesRequest processes;
  processes.set_page_size(kMaxListed);
  const auto listed =
      invocation.client().ListProcesses(processes, invocation.Quick());
  if (!listed.ok()) return;
  for (const auto& process : listed->processes()) {
    found.push_back({process.pid(), process.process_type()});
  }
}

void AddYields(Invocation& invocation, bool is_token, Candidates& found) {
  v1::ListYieldsRequest request;
  request.set_page_size(kMaxListed);
  const auto listed =
      invocation.client().ListYields(request, invocation.Quick());
  if (!listed.ok()) return;
  std::set<std::string> commands;
  for (const auto& yield : listed->yields()) {
    if (is_token) {
      found.push_back({yield.token(), yield.command() + " of " + yield.pid()});
    } else if (commands.insert(yield.command()).second) {
      found.push_back({yield.command(), "waits"});
    }
  }
}

void AddContexts(const Invocation& invocation, Candidates& found) {
  const std::string path = ContextsPath(invocation.environment().variable);
  if (path.empty()) return;
  const auto contexts = ReadContexts(path);
  if (!contexts.ok()) return;
  for (const auto& [name, context] : contexts->all) {
    found.push_back({name, context.address});
  }
}

}  // namespace

std::vector<Candidate> LiveCandidates(Invocation& invocation,
                                      const Completion& completion) {
  Candidates found;
  switch (completion.live) {
    case LiveValues::kNone:
    case LiveValues::kFiles:
      break;
    case LiveValues::kProcessTypes:
      AddProcessTypes(invocation, found);
      break;
    case LiveValues::kMethods:
      AddMethods(invocation, completion.process_type, found);
      break;
    case LiveValues::kPids:
      AddPids(invocation, completion.beginning, found);
      break;
    case LiveValues::kTokens:
      AddYields(invocation, true, found);
      break;
    case LiveValues::kExternalCommands:
      AddYields(invocation, false, found);
      break;
    case LiveValues::kContexts:
      AddContexts(invocation, found);
      break;
  }
  std::erase_if(found, [](const Candidate& one) { return !IsSafe(one.value); });
  return found;
}

void PrintCandidates(const std::vector<Candidate>& candidates,
                     const Completion& completion, std::ostream& out) {
  if (completion.live == LiveValues::kFiles) out << kFilesLine << "\n";
  for (const auto& [value, about] : candidates) {
    if (!value.starts_with(completion.beginning)) continue;
    out << completion.before << value << "\t"
        << OneLine(about, kMaxAboutCharacters) << "\n";
  }
}

}  // namespace actord::client
