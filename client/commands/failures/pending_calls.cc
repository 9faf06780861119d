#include "client/commands/failures/pending_calls.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/paging.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// The plugin of the daemon's own commands.
constexpr absl::string_view kBuiltinPlugin = "builtin";
// Maximum number of calls in each direction that describe shows.
constexpr size_t kShownCalls = 100;

std::string ProcessText(const std::string& pid, const std::string& type,
                        const std::string& name) {
  if (type.empty()) return pid;
  return absl::StrCat(pid, " (", OneLine(type), name.empty() ? "" : " @",
                      OneLine(name), ")");
}

// Whether no event but the answer of this call lets the process take a step.
bool WaitsForThisAlone(const v1::PendingCall& call) {
  return call.state() == v1::PROCESS_STATE_BLOCKED &&
         call.yields_outstanding() == 1;
}

absl::Status ListCallsOf(Invocation& invocation,
                         const v1::ListCallsRequest& request,
                         std::vector<v1::PendingCall>& calls) {
  return ForEachElement(
      request, kShownCalls,
      [&](const v1::ListCallsRequest& page) {
        return invocation.client().ListCalls(page, invocation.Quick());
      },
      [](const v1::ListCallsResponse& response) -> const auto& {
        return response.calls();
      },
      [&](const v1::PendingCall& call) { calls.push_back(call); }, [] {});
}

}  // namespace

std::string CallerText(const v1::PendingCall& call) {
  if (!call.pid().empty()) {
    return ProcessText(call.pid(), call.process_type(), call.name());
  }
  const std::string outside = OutsideText(call);
  return outside.empty() ? "a program outside"
                         : absl::StrCat("a program outside (", outside, ")");
}

std::string OutsideText(const v1::PendingCall& call) {
  std::vector<std::string> parts;
  const v1::OutsideCaller& outside = call.outside();
  if (!outside.name().empty()) parts.push_back(OneLine(outside.name()));
  if (!outside.address().empty()) parts.push_back(OneLine(outside.address()));
  if (outside.connection() != 0) {
    parts.push_back(absl::StrCat("connection ", outside.connection()));
  }
  return absl::StrJoin(parts, ", ");
}

std::string CalleeText(const v1::PendingCall& call) {
  if (!call.command().empty()) {
    return absl::StrCat("the command ", OneLine(call.command()), " of ",
                        call.plugin() == kBuiltinPlugin
                            ? "the daemon"
                            : absl::StrCat("plugin ", OneLine(call.plugin())));
  }
  return ProcessText(call.callee_pid(), call.callee_type(), call.callee_name());
}

std::string AnswerText(const v1::PendingCall& call) {
  return absl::StrCat(call.command().empty() ? "the answer of " : "",
                      CalleeText(call));
}

std::string CallDeadlineText(const v1::PendingCall& call, absl::Time now) {
  if (!call.has_deadline()) return "";
  return absl::StrCat("; the call fails in ",
                      ShortDuration(std::max(ToTime(call.deadline()) - now,
                                             absl::ZeroDuration())));
}

absl::Status AddCallFields(
    Invocation& invocation, const std::string& pid,
    std::vector<std::pair<std::string, std::string>>& fields, Json& json,
    size_t& waiting) {
  std::vector<v1::PendingCall> made;
  std::vector<v1::PendingCall> owed;
  v1::ListCallsRequest request;
  request.set_pid(pid);
  request.set_with_commands(true);
  absl::Status status = ListCallsOf(invocation, request, made);
  if (absl::IsUnimplemented(status)) return absl::OkStatus();
  request.clear_pid();
  request.clear_with_commands();
  request.set_callee_pid(pid);
  if (status.ok()) status = ListCallsOf(invocation, request, owed);
  if (!status.ok()) return status;
  waiting = made.size();
  const absl::Time now = absl::Now();
  Json& json_made = json["calls"] = Json::array();
  for (const v1::PendingCall& call : made) {
    json_made.push_back(ToJson(call));
    fields.emplace_back(
        "Waits for",
        absl::StrCat(AnswerText(call), " for ",
                     ShortDuration(now - ToTime(call.create_time())),
                     CallDeadlineText(call, now)));
  }
  Json& json_owed = json["owed_calls"] = Json::array();
  for (const v1::PendingCall& call : owed) {
    json_owed.push_back(ToJson(call));
    fields.emplace_back(
        "Owes an answer",
        absl::StrCat("to ", CallerText(call), " for ",
                     ShortDuration(now - ToTime(call.create_time())),
                     CallDeadlineText(call, now)));
  }
  if (owed.size() == kShownCalls) fields.emplace_back("Owes an answer", "...");
  return absl::OkStatus();
}

void CallGraph::Add(const v1::PendingCall& call) {
  if (size_ == kMaxCalls || call.pid().empty()) return;
  if (!call.command().empty()) return AddCommand(call.pid(), CalleeText(call));
  ++size_;
  auto& of_caller = calls_[call.pid()];
  const auto place = std::upper_bound(
      of_caller.begin(), of_caller.end(), ToTime(call.create_time()),
      [](absl::Time time, const auto& other) {
        return time < ToTime(other->create_time());
      });
  of_caller.insert(place, std::make_unique<v1::PendingCall>(call));
}

void CallGraph::AddCommand(const std::string& pid, std::string text) {
  commands_.emplace(pid, std::move(text));
}

CallGraph::Links CallGraph::WayBack(const v1::PendingCall& call) const {
  if (call.callee_pid() == call.pid()) return {&call};
  absl::flat_hash_map<std::string, const v1::PendingCall*> reached_by;
  std::deque<std::string> next = {call.callee_pid()};
  while (!next.empty() && reached_by.size() < kMaxVisited) {
    const auto found = calls_.find(next.front());
    next.pop_front();
    if (found == calls_.end()) continue;
    for (const auto& made : found->second) {
      const std::string& callee = made->callee_pid();
      if (!reached_by.emplace(callee, made.get()).second) continue;
      if (callee != call.pid()) {
        next.push_back(callee);
        continue;
      }
      Links way;
      for (std::string at = callee; at != call.callee_pid() || way.empty();) {
        way.push_back(reached_by.at(at));
        at = way.back()->pid();
      }
      std::reverse(way.begin(), way.end());
      return way;
    }
  }
  return {};
}

CallGraph::Links CallGraph::Behind(const v1::PendingCall& call) const {
  Links links;
  absl::flat_hash_set<std::string> seen = {call.pid()};
  std::string at = call.callee_pid();
  while (links.size() < kMaxChain && seen.insert(at).second) {
    const auto found = calls_.find(at);
    if (found == calls_.end()) break;
    links.push_back(found->second.front().get());
    at = links.back()->callee_pid();
  }
  return links;
}

std::string CallGraph::EndOf(const v1::PendingCall& last, bool is_cut) const {
  if (is_cut) return ", and so on";
  const auto command = commands_.find(last.callee_pid());
  if (command != commands_.end()) {
    return ", which waits for " + command->second;
  }
  switch (last.callee_state()) {
    case v1::PROCESS_STATE_BLOCKED:
      return ", which waits for a command of its own";
    case v1::PROCESS_STATE_IDLE:
      return ", which is IDLE: it waits for a message, and has not answered";
    case v1::PROCESS_STATE_UNSPECIFIED:
      return "";
    default:
      return ", which is " + EnumName(last.callee_state());
  }
}

std::string CallGraph::BehindText(const v1::PendingCall& call) const {
  const Links links = Behind(call);
  std::string text;
  for (const v1::PendingCall* link : links) {
    absl::StrAppend(&text, ", which waits for the answer of ",
                    CalleeText(*link));
  }
  return text +
         EndOf(links.empty() ? call : *links.back(), links.size() == kMaxChain);
}

CallGraph::Chain CallGraph::ChainOf(const v1::PendingCall& call,
                                    absl::Time now) const {
  Chain chain;
  Links links = WayBack(call);
  chain.is_cycle = !links.empty();
  if (!chain.is_cycle) links = Behind(call);
  // A process that calls itself has one link, which is the call.
  const bool calls_itself = chain.is_cycle && links.front() == &call;
  chain.is_deadlock =
      chain.is_cycle && WaitsForThisAlone(call) &&
      std::all_of(links.begin(), links.end(),
                  [](const auto* link) { return WaitsForThisAlone(*link); });
  chain.why = absl::StrCat(chain.is_deadlock ? "deadlock: " : "", "waits ",
                           ShortDuration(now - ToTime(call.create_time())),
                           " for the answer of ", CalleeText(call));
  chain.pids.push_back(call.callee_pid());
  if (calls_itself) {
    absl::StrAppend(&chain.why, ", which is the process itself");
    links.clear();
  }
  const bool is_cut = !chain.is_cycle && links.size() == kMaxChain;
  for (size_t i = 0; i < links.size(); ++i) {
    const v1::PendingCall& link = *links[i];
    chain.pids.push_back(link.callee_pid());
    if (i >= kMaxChain) continue;
    absl::StrAppend(&chain.why, ", which waits for the answer of ",
                    CalleeText(link));
  }
  if (chain.is_cycle) {
    absl::StrAppend(&chain.why,
                    chain.is_deadlock
                        ? "; none of them takes a message before its answer"
                        : "; this is a cycle of calls");
  } else if (std::count(chain.pids.begin(), chain.pids.end(),
                        chain.pids.back()) > 1) {
    absl::StrAppend(&chain.why, ", and so on in a circle");
  } else {
    absl::StrAppend(&chain.why,
                    EndOf(links.empty() ? call : *links.back(), is_cut));
  }
  absl::StrAppend(&chain.why, CallDeadlineText(call, now));
  if (chain.is_deadlock && !call.has_deadline()) {
    absl::StrAppend(&chain.why, "; the call has no timeout");
  }
  return chain;
}

}  // namespace actord::client
