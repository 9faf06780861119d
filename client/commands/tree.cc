// actorctl tree

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

constexpr char kSupervisor[] = "supervisor";
// Deeper levels are shown as a number.
constexpr size_t kMostDrawn = 40;

// The maximum number of children of a supervisor.
constexpr size_t kMostChildren = 1000;

struct TreeOptions {
  std::string pid;
  uint64_t limit = 0;
  bool plain = false;
};

// A supervisor's report about a child; empty: there is no report.
struct Supervised {
  std::string id = {};
  // Empty: the child is down.
  std::string pid = {};
  std::string type = {};
  std::string state = {};
  std::string last_end = {};
  uint64_t restarts = 0;
};

struct Row {
  // Empty: the row is a child that is down.
  std::string pid = {};
  std::string parent = {};
  size_t depth = 0;
  // Drawn in front of this row.
  std::string drawn = {};
  // Drawn in front of the children.
  std::string before = {};
  Supervised supervised = {};
};

struct Processes {
  std::map<std::string, v1::Process> by_pid;
  // In the order of their starts.
  std::map<std::string, std::vector<std::string>> children;
  std::vector<std::string> roots;
  std::map<std::string, std::vector<std::string>> names;
};

absl::StatusOr<Processes> Load(Invocation& invocation) {
  Processes found;
  std::vector<std::string> order;
  absl::Status status = ForEachElement(
      v1::ListProcessesRequest(), 0,
      [&](const v1::ListProcessesRequest& page) {
        return invocation.client().ListProcesses(page, invocation.Quick());
      },
      [](const v1::ListProcessesResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::Process& process) {
        order.push_back(process.pid());
        found.by_pid.emplace(process.pid(), process);
      },
      [] {});
  if (!status.ok()) return status;
  for (const std::string& pid : order) {
    const std::string& parent = found.by_pid.at(pid).parent_pid();
    // A process whose parent has ended is a root.
    (found.by_pid.count(parent) != 0 ? found.children[parent] : found.roots)
        .push_back(pid);
  }
  status = ForEachElement(
      v1::ListNamesRequest(), 0,
      [&](const v1::ListNamesRequest& page) {
        return invocation.client().ListNames(page, invocation.Quick());
      },
      [](const v1::ListNamesResponse& response) -> const auto& {
        return response.names();
      },
      [&](const v1::Name& name) {
        found.names[name.pid()].push_back(name.name());
      },
      [] {});
  if (!status.ok()) return status;
  return found;
}

std::string TextIn(const Json& object, const char* field) {
  const auto at = object.find(field);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// The children of a supervisor in the order of their starts. If the supervisor
// does not answer (it may have ended), its children are drawn without its
// report.
std::vector<Supervised> AskSupervisor(Invocation& invocation,
                                      const std::string& pid) {
  std::vector<Supervised> children;
  std::string next;
  do {
    v1::CallRequest request;
    request.set_pid(pid);
    request.set_topic("children");
    if (!next.empty()) {
      request.mutable_payload()->set_data(Write(Json{{"after", next}}));
    }
    const auto response = invocation.client().Call(request, invocation.Quick());
    if (!response.ok()) return children;
    const Json list = Json::parse(response->result().data(), nullptr, false);
    if (!list.is_object() || !list.contains("children")) return children;
    next = TextIn(list, "next");
    for (const Json& child : list["children"]) {
      if (!child.is_object() || TextIn(child, "id").empty()) continue;
      const auto restarts = child.find("restarts");
      children.push_back(
          {.id = TextIn(child, "id"),
           .pid = TextIn(child, "pid"),
           .type = TextIn(child, "type"),
           .state = TextIn(child, "state"),
           .last_end = TextIn(child, "last_end"),
           .restarts = restarts != child.end() && restarts->is_number_unsigned()
                           ? restarts->get<uint64_t>()
                           : 0});
    }
  } while (!next.empty() && children.size() < kMostChildren);
  return children;
}

// The rows below `row`: first the children that its supervisor reports, then
// its other children.
std::vector<Row> Below(Invocation& invocation, const TreeOptions& options,
                       const Processes& processes, const Row& row) {
  std::vector<Row> rows;
  std::set<std::string> seen;
  const auto process = processes.by_pid.find(row.pid);
  if (process == processes.by_pid.end()) return rows;
  const auto add = [&](Supervised supervised) {
    Row& child = rows.emplace_back();
    child.pid = supervised.pid;
    child.parent = row.pid;
    child.depth = row.depth + 1;
    child.supervised = std::move(supervised);
  };
  if (!options.plain && process->second.process_type() == kSupervisor) {
    for (Supervised& child : AskSupervisor(invocation, row.pid)) {
      if (!child.pid.empty()) {
        const auto found = processes.by_pid.find(child.pid);
        // The process began after the list was made, or is not a child of the
        // supervisor.
        if (found == processes.by_pid.end() ||
            found->second.parent_pid() != row.pid) {
          continue;
        }
      }
      seen.insert(child.pid);
      add(std::move(child));
    }
  }
  const auto children = processes.children.find(row.pid);
  if (children != processes.children.end()) {
    for (const std::string& pid : children->second) {
      if (seen.count(pid) == 0) add({.pid = pid});
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Row& child = rows[i];
    if (child.depth > kMostDrawn) {
      child.before = row.before;
      child.drawn = row.before + "[" + std::to_string(child.depth) + "] ";
      continue;
    }
    const bool last = i + 1 == rows.size();
    child.drawn = row.before + (last ? "└─ " : "├─ ");
    child.before = row.before + (last ? "   " : "│  ");
  }
  return rows;
}

// Formats a label, as in "db: database @db @store".
std::string Label(const Row& row, const v1::Process* process,
                  const Processes& processes) {
  std::string label = row.drawn;
  if (!row.supervised.id.empty()) label += row.supervised.id + ": ";
  label += process == nullptr ? row.supervised.type : process->process_type();
  const auto names = processes.names.find(row.pid);
  if (names != processes.names.end() && !row.pid.empty()) {
    for (const std::string& name : names->second) label += " @" + name;
  }
  return label;
}

std::string StateOf(const Row& row, const v1::Process* process) {
  if (process != nullptr) return EnumName(process->state());
  std::string state = row.supervised.state;
  for (char& c : state) {
    c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  }
  return state;
}

Json JsonOf(const Row& row, const v1::Process* process,
            const Processes& processes) {
  Json json;
  if (process != nullptr) {
    json = ToJson(*process);
  } else {
    json = {{"process_type", row.supervised.type},
            {"state", StateOf(row, process)},
            {"parent_pid", row.parent}};
  }
  json["depth"] = row.depth;
  const auto names = processes.names.find(row.pid);
  json["names"] = names == processes.names.end() || row.pid.empty()
                      ? Json::array()
                      : Json(names->second);
  if (row.supervised.id.empty()) return json;
  json["child_id"] = row.supervised.id;
  json["restarts"] = row.supervised.restarts;
  json["last_end"] = row.supervised.last_end;
  return json;
}

Item RowItem(const Row& row, const v1::Process* process,
             const Processes& processes) {
  return {.json = [&, process] { return JsonOf(row, process, processes); },
          .name = [&] { return row.pid; },
          .cells =
              [&, process] {
                const bool supervised = !row.supervised.id.empty();
                return std::vector<std::string>{
                    Label(row, process, processes),
                    row.pid.empty() ? "-" : row.pid,
                    StateOf(row, process),
                    process == nullptr
                        ? "-"
                        : ShortDuration(absl::Now() -
                                        ToTime(process->create_time())),
                    supervised ? std::to_string(row.supervised.restarts) : "",
                    process == nullptr ? "" : process->method(),
                    row.supervised.last_end};
              }};
}

absl::StatusOr<std::vector<Row>> Roots(Invocation& invocation,
                                       const TreeOptions& options,
                                       Processes& processes) {
  std::vector<Row> rows;
  if (options.pid.empty()) {
    for (const std::string& pid : processes.roots) rows.push_back({.pid = pid});
    return rows;
  }
  v1::GetProcessRequest request;
  request.set_pid(options.pid);
  const auto response =
      invocation.client().GetProcess(request, invocation.Quick());
  if (!response.ok()) return response.status();
  // The process may have begun after the list was made.
  const v1::Process& process = response->process();
  processes.by_pid.emplace(process.pid(), process);
  rows.push_back({.pid = process.pid(), .parent = process.parent_pid()});
  return rows;
}

ExitStatus RunTree(Invocation& invocation, const TreeOptions& options) {
  auto processes = Load(invocation);
  if (!processes.ok()) return invocation.Fail(processes.status());
  auto roots = Roots(invocation, options, *processes);
  if (!roots.ok()) return invocation.Fail(roots.status(), options.pid);
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "PROCESS"},
                     {.heading = "PID"},
                     {.heading = "STATE"},
                     {.heading = "AGE", .number = true},
                     {.heading = "RESTARTS", .number = true},
                     {.heading = "METHOD", .wide_only = true},
                     {.heading = "LAST END", .wide_only = true}});
  // No recursion, because the tree may be as deep as the number of processes.
  std::vector<Row> stack(roots->rbegin(), roots->rend());
  uint64_t shown = 0;
  while (!stack.empty()) {
    const Row row = std::move(stack.back());
    stack.pop_back();
    const auto process = processes->by_pid.find(row.pid);
    const bool lives = process != processes->by_pid.end();
    // -o name has nothing to write for a child that is down.
    const bool has_name = lives || invocation.style().format != Format::kName;
    if (has_name && (lives || !row.supervised.id.empty())) {
      writer.Add(RowItem(row, lives ? &process->second : nullptr, *processes));
      // Supervisors of rows that are not shown are not asked.
      if (++shown == options.limit) break;
    }
    std::vector<Row> below = Below(invocation, options, *processes, row);
    stack.insert(stack.end(), std::make_move_iterator(below.rbegin()),
                 std::make_move_iterator(below.rend()));
  }
  writer.Finish();
  return ExitStatus::kDone;
}

constexpr char kTreeFooter[] = R"(
Each process stands below its parent, with its type and its names. The children of a
supervisor stand in the order of their starts, with their IDs and the number of their
restarts; -o wide adds how they ended last. A child that is down has a state instead of a
PID: BACKOFF before a restart, WAITING for earlier children, STOPPED by stop_child, ENDED
for good. -o json, jsonl and yaml write the same rows, each with its depth.

Examples:
  actorctl tree
  actorctl tree @boot -o wide
  actorctl tree "$pid" -o name | tac | xargs -n 1 actorctl describe
)";

}  // namespace

void AddTree(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TreeOptions>();
  CLI::App* command =
      app.add_subcommand("tree", "Draw processes below their parents");
  command->footer(kTreeFooter);
  command
      ->add_option(
          "PID", options->pid,
          "Only this process, a PID or @NAME, and its descendants [all]")
      ->type_name("");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->add_flag("--plain", options->plain,
                    "Do not ask supervisors about their children");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunTree(invocation, *options);
    };
  });
}

}  // namespace actord::client
