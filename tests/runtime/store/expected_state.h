// The state that a history must make, by the words of the design and without
// any code of the applier: an oracle for the tests of the store.
//
// It has one table for everything that can be looked up, and searches through
// it, where the applier keeps indexes and removes what an end leaves behind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/records/records.h"
#include "tests/runtime/store/history.h"

namespace actord::runtime {

class ExpectedState {
 public:
  enum class What { kMessage, kCall, kCompletion, kCancel, kTerminate };
  struct Event {  // in a mailbox
    Pid to;
    What what = What::kMessage;
    Pid from;
    uint64_t tag = 0;
    int32_t status = 0;
    std::string topic;
    std::string text;
  };
  struct DeadLetter {
    Event event;
    records::DropReason reason = records::DropReason::kEnded;
    uint16_t owner = 0;
  };
  struct Yield {
    bool is_call = false;
    std::string text;
    uint64_t deadline = 0;
    uint32_t attempts = 0;
    std::string worker;
    uint16_t worker_owner = 0;
    Pid callee;
    bool failed = false;
    bool cancelled = false;
    uint64_t answer = 0;
  };
  struct Life {
    std::string type;
    uint32_t plugin = 0;
    std::string method;
    bool started = false;
    std::string input;
    std::string request;  // the key of its id, until Init has returned
    std::string image;
    records::TurnImage turn;
    bool cancel_requested = false;
    bool traps = false;
    uint16_t owner = 0;
    uint8_t priority = 0;
    bool keep_result = false;
    Pid parent;
    uint64_t spawn = 0;
    uint64_t lifetime = 0;
    std::map<uint64_t, Yield> yields;
    std::vector<std::pair<uint64_t, std::pair<Pid, uint64_t>>> owed;
    bool replays = false;
    // Of a replay type, since the last image: what each step has consumed.
    std::map<uint64_t, std::map<uint64_t, Event>> history;
  };
  // Watcher, watched, tag.
  using Edge = std::tuple<Pid, Pid, uint64_t>;

  void Apply(const Act& act);
  // One line for each fact, sorted.
  [[nodiscard]] std::vector<std::string> Text() const;

  std::map<Pid, Life> lives;
  std::map<uint64_t, Event> mail;  // by position
  std::map<uint64_t, DeadLetter> letters;
  std::map<std::pair<uint16_t, std::string>, Pid> names;
  std::set<std::tuple<uint16_t, std::string, Pid>> groups;
  std::set<Edge> watches;
  std::map<Edge, std::string> exits;  // not told yet
  struct Kept {
    std::string text;
    uint64_t expires = 0;
  };
  std::map<Pid, Kept> outcomes;
  struct KeptId {
    std::string text;
    uint64_t expires = 0;
    uint64_t lsn = 0;
    Pid pid;
    bool is_open = false;  // a call without an answer
  };
  std::map<std::string, KeptId> requests;
  static std::string KeyOfId(const char* kind, Owner owner,
                             const std::string& id);
  std::map<uint16_t, std::string> owners;
  std::map<uint32_t, std::string> plugins;
  uint64_t clock = 0;
  uint64_t incarnation = 0;

 private:
  void On(const records::Submitted& record);
  // The yield of the process.spawn that waits for this process; null: none.
  Yield* SpawnOf(const Life& life);
  void On(const records::Started& record);
  void On(const records::Input& record);
  void On(const records::Step& record);
  void On(const records::Done& record);
  void On(const records::Dropped& record);
  void On(const records::Resent& record);
  void On(const records::Forgotten& record);
  void On(const records::Attempt& record);
  void On(const records::YieldOver& record);
  void On(const records::Ended& record);
  void On(const records::Upgraded& record);
  void On(const records::Plugin& record);
  void On(const records::Time& record);
  void On(const records::Checkpoint& /*record*/) {}
  void On(const records::OwnerName& record) {
    owners[static_cast<uint16_t>(record.owner)] = record.name;
  }
  void Do(const Pid& self, const ActEffect& effect, uint64_t position,
          const records::Step& step);
  void See(const Pid& self, const ActEvent& event);
  void Remember(const char* kind, Owner owner, const records::RequestKey& key,
                const Pid& pid);
  void Answer(uint64_t call, const std::string& text);
  void Post(uint64_t position, Event event);
  // A message: a process of another owner counts as not alive.
  void PostFrom(uint16_t owner, uint64_t position, Event event);
  void Fail(const Pid& caller, uint64_t tag, uint64_t call);
  void Watch(const Pid& watcher, const Pid& watched, uint64_t tag);
  void End(const Pid& pid, const records::End& end,
           const Positions& consumed = {});
  [[nodiscard]] bool Lives(const Pid& pid) const {
    return lives.find(pid) != lives.end();
  }

  const Act* act_ = nullptr;
};

// Texts of single facts, which the text of a store shares.
std::string EndText(const records::End& end);
std::string EventText(const ExpectedState::Event& event);
std::string YieldText(uint64_t tag, const ExpectedState::Yield& yield);
// Without yields and calls.
std::string LifeText(const ExpectedState::Life& life);

}  // namespace actord::runtime
