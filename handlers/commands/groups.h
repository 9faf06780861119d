// group.join, group.leave, group.members, group.send: address several processes
// together.
//
//   {"group": text}      and for group.send also "topic": text, "payload": any
//
// group.join and group.leave add and remove the process that yields.
// group.members completes with a JSON array of PIDs. group.send sends to all
// members except the process itself, in the order of their PIDs, and completes
// with {"delivered": n, "refused": n}; members that have ended meanwhile count
// in neither. Errors: INVALID_ARGUMENT (a malformed name, or a message above
// the daemon's limit), NOT_FOUND (leave: not a member), RESOURCE_EXHAUSTED
// (join: 4,096 members a group, or 64 groups a process).
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class GroupJoin : public Handler {
 public:
  static constexpr const char* kCommand = "group.join";
  static constexpr const char* kDoc = "Makes the process a member of a group.";

  explicit GroupJoin(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class GroupLeave : public Handler {
 public:
  static constexpr const char* kCommand = "group.leave";
  static constexpr const char* kDoc = "Takes the process out of a group.";

  explicit GroupLeave(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class GroupMembers : public Handler {
 public:
  static constexpr const char* kCommand = "group.members";
  static constexpr const char* kDoc = "Answers the PIDs of a group's members.";

  explicit GroupMembers(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class GroupSend : public Handler {
 public:
  static constexpr const char* kCommand = "group.send";
  static constexpr const char* kDoc =
      "Sends a message to the other members of a group.";

  explicit GroupSend(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

}  // namespace actord::handlers
