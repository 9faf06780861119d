#include "client/commands/failures/stuck_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/paging.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

template <typename Use>
absl::Status ForEachCall(Invocation& invocation, absl::Duration older_than,
                         const Use& use) {
  v1::ListCallsRequest request;
  request.set_with_commands(true);
  const int64_t ns = absl::ToInt64Nanoseconds(older_than);
  request.mutable_older_than()->set_seconds(ns / 1'000'000'000);
  request.mutable_older_than()->set_nanos(
      static_cast<int32_t>(ns % 1'000'000'000));
  size_t seen = 0;
  absl::Status status = ForEachElement(
      request, CallGraph::kMaxCalls,
      [&](const v1::ListCallsRequest& page) {
        return invocation.client().ListCalls(page, invocation.Quick());
      },
      [](const v1::ListCallsResponse& response) -> const auto& {
        return response.calls();
      },
      [&](const v1::PendingCall& call) {
        ++seen;
        use(call);
      },
      [] {});
  if (seen == CallGraph::kMaxCalls) {
    invocation.Complain(absl::StrCat("only the first ", WithThousands(seen),
                                     " waiting calls were examined"));
  }
  return status;
}

StuckProcess Waiting(const v1::PendingCall& call, const CallGraph& graph,
                     absl::Time now) {
  if (!call.command().empty()) {
    const absl::Time since = ToTime(call.create_time());
    return {.pid = call.pid(),
            .process_type = call.process_type(),
            .what = "COMMAND",
            .since = since,
            .why = absl::StrCat("waits ", ShortDuration(now - since), " for ",
                                AnswerText(call),
                                ", whose handler is in the daemon",
                                CallDeadlineText(call, now))};
  }
  CallGraph::Chain chain = graph.ChainOf(call, now);
  return {.pid = call.pid(),
          .process_type = call.process_type(),
          .what = chain.is_deadlock ? "DEADLOCK" : "CALL",
          .since = ToTime(call.create_time()),
          .why = std::move(chain.why),
          .chain = std::move(chain.pids)};
}

// `calls`: those of programs outside to the process `pid`.
StuckProcess Owing(const std::string& pid,
                   const std::vector<v1::PendingCall>& calls,
                   const CallGraph& graph, absl::Time now) {
  const v1::PendingCall& oldest = *std::min_element(
      calls.begin(), calls.end(), [](const auto& a, const auto& b) {
        return ToTime(a.create_time()) < ToTime(b.create_time());
      });
  const absl::Time since = ToTime(oldest.create_time());
  std::string outside = OutsideText(oldest);
  if (!outside.empty()) outside = absl::StrCat(" (", outside, ")");
  const bool is_one = calls.size() == 1;
  const std::string& name = calls.front().callee_name();
  return {.pid = pid,
          .process_type = calls.front().callee_type(),
          .what = "OWES",
          .since = since,
          .why = absl::StrCat(CountedNoun(calls.size(), "program"), " outside",
                              is_one ? outside + " waits" : " wait",
                              " for the answer", name.empty() ? "" : " of @",
                              OneLine(name), graph.BehindText(oldest), "; the ",
                              is_one ? "call" : "oldest call" + outside,
                              " has waited ", ShortDuration(now - since))};
}

}  // namespace

std::string CountedNoun(uint64_t count, const std::string& noun) {
  return WithThousands(count) + " " + noun + (count == 1 ? "" : "s");
}

absl::Status FindStuckCalls(Invocation& invocation, const StuckQuery& query,
                            CallGraph& graph,
                            std::vector<StuckProcess>& found) {
  const auto is_of_type = [&query](const std::string& type) {
    return query.type.empty() || query.type == type;
  };
  std::vector<v1::PendingCall> old;
  // The calls from outside, by callee.
  std::map<std::string, std::vector<v1::PendingCall>> outside;
  absl::Status status = ForEachCall(
      invocation, query.older_than, [&](const v1::PendingCall& call) {
        if (!call.pid().empty()) {
          if (is_of_type(call.process_type())) old.push_back(call);
        } else if (is_of_type(call.callee_type())) {
          outside[call.callee_pid()].push_back(call);
        }
      });
  if (absl::IsUnimplemented(status)) return absl::OkStatus();
  if (status.ok() && (!old.empty() || !outside.empty())) {
    // Young calls may be a part of the chain of an old one.
    status = ForEachCall(invocation, absl::ZeroDuration(),
                         [&](const v1::PendingCall& call) { graph.Add(call); });
  }
  if (!status.ok()) return status;
  std::stable_sort(old.begin(), old.end(), [](const auto& a, const auto& b) {
    return ToTime(a.create_time()) < ToTime(b.create_time());
  });
  for (const v1::PendingCall& call : old) {
    found.push_back(Waiting(call, graph, query.now));
  }
  for (const auto& [pid, calls] : outside) {
    found.push_back(Owing(pid, calls, graph, query.now));
  }
  return absl::OkStatus();
}

}  // namespace actord::client
