// Builds the responses of a watch from short texts.
#pragma once

#include <string>
#include <vector>

#include "actord/v1/watch.pb.h"

namespace actord::client {

inline v1::WatchProcessesResponse TokenOnly(const std::string& token) {
  v1::WatchProcessesResponse response;
  response.set_resume_token(token);
  return response;
}

inline v1::WatchProcessesResponse Page(const std::string& token, bool first,
                                       bool last,
                                       const std::vector<std::string>& pids) {
  v1::WatchProcessesResponse response = TokenOnly(token);
  response.mutable_snapshot()->set_first(first);
  response.mutable_snapshot()->set_last(last);
  for (const std::string& pid : pids) {
    v1::Process& process = *response.mutable_snapshot()->add_processes();
    process.set_pid(pid);
    process.set_process_type("order");
    process.set_state(v1::PROCESS_STATE_IDLE);
  }
  return response;
}

inline v1::WatchProcessesResponse Missed(const std::string& token,
                                         uint64_t count) {
  v1::WatchProcessesResponse response = TokenOnly(token);
  response.mutable_missed()->set_count(count);
  return response;
}

// "+p": p has started; "-p": p was done; "!p": p has failed.
inline v1::WatchProcessesResponse Happened(
    const std::string& token, const std::vector<std::string>& events) {
  v1::WatchProcessesResponse response = TokenOnly(token);
  for (const std::string& text : events) {
    v1::ProcessEvent& event = *response.mutable_events()->add_events();
    const std::string pid = text.substr(1);
    if (text[0] == '+') {
      event.mutable_started()->set_pid(pid);
      event.mutable_started()->set_process_type("order");
      event.mutable_started()->set_method("open");
      event.mutable_started()->set_priority(16);
      continue;
    }
    v1::ProcessEnded& ended = *event.mutable_ended();
    ended.set_pid(pid);
    ended.set_process_type("order");
    ended.set_steps(5);
    if (text[0] != '!') continue;
    ended.mutable_failure()->set_reason(v1::FAILURE_REASON_FAILED);
    ended.mutable_failure()->set_code(9);
    ended.mutable_failure()->set_message("card refused");
  }
  return response;
}

}  // namespace actord::client
