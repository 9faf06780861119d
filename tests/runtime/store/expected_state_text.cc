#include <algorithm>
#include <sstream>

#include "runtime/table/home_pid.h"
#include "tests/runtime/store/expected_state.h"

namespace actord::runtime {

std::string EndText(const records::End& end) {
  std::ostringstream text;
  text << "reason " << static_cast<int>(end.reason) << " code " << end.code
       << " message " << end.message;
  return text.str();
}

std::string EventText(const ExpectedState::Event& event) {
  std::ostringstream text;
  text << FormatPid(event.to) << " kind " << static_cast<int>(event.what)
       << " from " << FormatPid(event.from) << " tag " << event.tag
       << " status " << event.status << " topic " << event.topic << " text "
       << event.text;
  return text.str();
}

std::string YieldText(uint64_t tag, const ExpectedState::Yield& yield) {
  std::ostringstream text;
  text << tag << " call " << yield.is_call << " text " << yield.text
       << " deadline " << yield.deadline << " attempts " << yield.attempts
       << " worker " << yield.worker << " of " << yield.worker_owner
       << " callee " << FormatPid(yield.callee) << " failed " << yield.failed
       << " cancelled " << yield.cancelled << " answer " << yield.answer;
  return text.str();
}

std::string LifeText(const ExpectedState::Life& life) {
  std::ostringstream text;
  text << life.type << " plugin " << life.plugin << " method " << life.method
       << " started " << life.started << " input " << life.input << " image "
       << life.image << " step " << life.turn.step << " tag "
       << life.turn.next_tag << " verdict " << life.turn.verdict << " cancel "
       << life.cancel_requested << " traps " << life.traps << " owner "
       << life.owner << " priority " << int{life.priority} << " keeps "
       << life.keep_result << " parent " << FormatPid(life.parent) << " spawn "
       << life.spawn << " lifetime " << life.lifetime;
  return text.str();
}

std::vector<std::string> ExpectedState::Text() const {
  std::vector<std::string> lines;
  const auto add = [&](const auto&... parts) {
    std::ostringstream text;
    ((text << parts), ...);
    lines.push_back(text.str());
  };
  for (const auto& [pid, life] : lives) {
    const std::string name = FormatPid(pid);
    add("process ", name, " ", LifeText(life));
    for (const auto& [tag, yield] : life.yields) {
      add("yield ", name, " ", YieldText(tag, yield));
      if (yield.deadline != 0)
        add("timer ", yield.deadline, " ", name, " ", tag);
    }
    if (life.lifetime != 0) add("timer ", life.lifetime, " ", name, " ", 0);
    for (const auto& [step, consumed] : life.history) {
      add("history ", name, " ", step, " consumed ", consumed.size());
      for (const auto& [position, event] : consumed) {
        add("consumed ", position, " ", EventText(event));
      }
    }
    for (const auto& [call, caller] : life.owed) {
      add("owed ", name, " ", call, " ", FormatPid(caller.first), " ",
          caller.second);
    }
  }
  for (const auto& [position, event] : mail) {
    add("mail ", position, " ", EventText(event));
  }
  for (const auto& [position, letter] : letters) {
    add("letter ", position, " ", EventText(letter.event), " reason ",
        static_cast<int>(letter.reason), " owner ", letter.owner);
  }
  for (const auto& [name, pid] : names) {
    add("name ", name.first, " ", name.second, " ", FormatPid(pid));
  }
  for (const auto& [owner, group, pid] : groups) {
    add("group ", owner, " ", group, " ", FormatPid(pid));
  }
  for (const auto& [watcher, watched, tag] : watches) {
    add("watch ", FormatPid(watcher), " ", FormatPid(watched), " ", tag);
    if (tag != 0 && Lives(watched)) {
      add("watcher ", FormatPid(watched), " ", FormatPid(watcher), " ", tag);
    }
  }
  for (const auto& [edge, text] : exits) {
    add("exit ", FormatPid(std::get<0>(edge)), " ",
        FormatPid(std::get<1>(edge)), " ", std::get<2>(edge), " ", text);
  }
  for (const auto& [pid, kept] : outcomes) {
    if (kept.expires < clock) continue;
    add("outcome ", FormatPid(pid), " ", kept.text, " until ", kept.expires);
  }
  for (const auto& [key, kept] : requests) {
    if (kept.is_open) {
      add("request ", key, " ", kept.text, " open");
      continue;
    }
    if (kept.expires < clock) continue;
    add("request ", key, " ", kept.text, " until ", kept.expires);
  }
  for (const auto& [owner, name] : owners) add("owner ", owner, " ", name);
  for (const auto& [number, plugin] : plugins) {
    add("plugin ", number, " ", plugin);
  }
  add("clock ", clock);
  add("incarnation ", incarnation);
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace actord::runtime
