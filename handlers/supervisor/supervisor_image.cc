#include "handlers/supervisor/supervisor_image.h"

#include <actord/excerpt.h>

#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace actord::handlers {
namespace {

using Json = nlohmann::json;
using Plan = SupervisorPlan;

// ---- The forms of values

template <typename T>
Json FormOf(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else {
    return value;
  }
}
Json FormOf(const Duration& duration) { return duration.count(); }
Json FormOf(const Pid& pid) {
  return {pid.node, pid.incarnation, pid.slot, pid.generation};
}
Json FormOf(const Status& status) {
  return {{"code", static_cast<int>(status.code())},
          {"message", status.message()}};
}

template <typename T>
void Take(const Json& form, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(form.get<int>());
  } else {
    value = form.get<T>();
  }
}
void Take(const Json& form, Duration& duration) {
  duration = Duration(form.get<int64_t>());
}
void Take(const Json& form, Pid& pid) {
  pid = actord_pid{form.at(0), form.at(1), form.at(2), form.at(3)};
}
void Take(const Json& form, Status& status) {
  status = Status(ToCode(form.at("code")), form.at("message"));
}

// ---- Fields. A field with its initial value is not written.

template <typename T>
bool IsInitial(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == T{};
  }
}

struct Writer {
  template <typename T>
  void operator()(const char* name, const T& value) {
    if (!IsInitial(value)) to[name] = FormOf(value);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) to[name] = FormOf(*value);
  }
  void operator()(const char* name, const std::deque<Duration>& times) {
    for (const Duration& time : times) to[name].push_back(FormOf(time));
  }
  void operator()(const char* name, const std::map<Tag, Pid>& processes) {
    for (const auto& [tag, pid] : processes) {
      to[name].push_back({tag, FormOf(pid)});
    }
  }
  Json& to;
};

struct Reader {
  template <typename T>
  void operator()(const char* name, T& value) {
    value = {};
    if (const Json* const form = Find(name)) Take(*form, value);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    value.reset();
    if (const Json* const form = Find(name)) Take(*form, value.emplace());
  }
  void operator()(const char* name, std::deque<Duration>& times) {
    if (const Json* const list = Find(name)) {
      for (const Json& form : *list) Take(form, times.emplace_back());
    }
  }
  void operator()(const char* name, std::map<Tag, Pid>& processes) {
    if (const Json* const list = Find(name)) {
      for (const Json& each : *list) Take(each.at(1), processes[each.at(0)]);
    }
  }
  [[nodiscard]] const Json* Find(const char* name) const {
    const auto found = from.find(name);
    return found == from.end() ? nullptr : &*found;
  }
  const Json& from;
};

template <typename Spec, typename Visitor>
void VisitSpec(Spec& spec, Visitor visit) {
  visit("id", spec.id);
  visit("type", spec.type);
  visit("restart", spec.restart);
  visit("stop_timeout", spec.stop_timeout);
  visit("spawn", spec.spawn);
  visit("start_timeout", spec.start_timeout);
  visit("final_codes", spec.final_codes);
}

template <typename Child, typename Visitor>
void VisitChild(Child& child, Visitor visit) {
  visit("key", child.key);
  visit("state", child.state);
  visit("pid", child.pid);
  visit("wanted", child.wanted);
  visit("stop", child.stop);
  visit("held", child.held);
  visit("is_new", child.is_new);
  visit("was_up", child.was_up);
  visit("lost", child.lost);
  visit("terminated", child.terminated);
  visit("until", child.until);
  visit("is_late", child.is_late);
  visit("late_in_row", child.late_in_row);
  visit("not_before", child.not_before);
  visit("up_since", child.up_since);
  visit("failures", child.failures);
  visit("restarts", child.restarts);
  visit("last_end", child.last_end);
  visit("call", child.call);
}

template <typename Memory, typename Visitor>
void VisitPlan(Memory& plan, Visitor visit) {
  visit("next_key", plan.next_key);
  visit("window", plan.window);
  visit("restarts", plan.restarts);
  visit("end", plan.end);
  visit("is_started", plan.is_started);
}

template <typename Work, typename Visitor>
void VisitWork(Work& work, Visitor visit) {
  visit("start", work.start);
  visit("starting", work.starting);
  visit("sleep", work.sleep);
  visit("sleeps_until", work.sleeps_until);
  visit("terminates", work.terminates);
  visit("wait_for_start", work.wait_for_start);
  visit("has_said_all", work.has_said_all);
}

// Whether the child comes from the input, which has this number of children.
bool IsOfInput(const Plan::Child& child, size_t count) {
  return child.key >= 1 && child.key <= count;
}

SupervisorImage Decode(std::string_view text) {
  const Json image = Json::parse(text);
  SupervisorImage decoded;
  decoded.input = image.at("input");
  // The limit of payloads may be lower now.
  Result<SupervisorSpec> spec = ParseSupervisorSpec(decoded.input);
  if (!spec.ok()) throw std::invalid_argument(spec.status().message());
  decoded.plan.spec = *std::move(spec);
  const std::vector<ChildSpec> of_input =
      std::exchange(decoded.plan.spec.children, {});
  decoded.plan.of_input = of_input.size();
  VisitPlan(decoded.plan, Reader{image});
  VisitWork(decoded.work, Reader{image});
  for (const Json& each : image.at("children")) {
    Plan::Child child;
    VisitChild(child, Reader{each});
    if (child.state < Plan::State::kDown ||
        child.state > Plan::State::kStopping) {
      throw std::invalid_argument("there is no such state of a child");
    }
    if (IsOfInput(child, of_input.size())) {
      child.spec = of_input[child.key - 1];
    } else {
      VisitSpec(child.spec, Reader{each.at("spec")});
    }
    decoded.plan.children.push_back(std::move(child));
  }
  return decoded;
}

}  // namespace

std::string EncodeImage(std::string_view input, const Plan::Memory& plan,
                        const SupervisorWork& work) {
  Json image = {{"input", input}, {"children", Json::array()}};
  VisitPlan(plan, Writer{image});
  VisitWork(work, Writer{image});
  for (const Plan::Child& each : plan.children) {
    Json& child = image["children"].emplace_back(Json::object());
    VisitChild(each, Writer{child});
    if (IsOfInput(each, plan.of_input)) continue;
    VisitSpec(each.spec, Writer{child["spec"]});
  }
  // Texts of plugins may be invalid UTF-8.
  return image.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SupervisorImage> DecodeImage(std::string_view image) {
  const auto refuse = [](const std::exception& error) {
    return Status(Code::kDataLoss,
                  "the image of the supervisor cannot be read: " +
                      Excerpt(error.what(), 256));
  };
  try {
    return Decode(image);
  } catch (const Json::exception& error) {
    return refuse(error);
  } catch (const std::invalid_argument& error) {
    return refuse(error);
  }
}

}  // namespace actord::handlers
