// name.register, name.release, name.lookup: give names to processes.
//
//   {"name": text}
//
// name.register and name.release act on the process that yields. name.register
// completes with ALREADY_EXISTS, and a text that ends with the holder's PID, if
// another process holds the name; with RESOURCE_EXHAUSTED if the process holds
// as many names as it may; with INVALID_ARGUMENT for a malformed name.
// name.release completes with NOT_FOUND if the process does not hold the name.
// name.lookup completes with the holder's PID as text/plain, or with NOT_FOUND.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class NameRegister : public Handler {
 public:
  static constexpr const char* kCommand = "name.register";
  static constexpr const char* kDoc = "Gives the process a name.";

  explicit NameRegister(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class NameRelease : public Handler {
 public:
  static constexpr const char* kCommand = "name.release";
  static constexpr const char* kDoc = "Takes a name from the process.";

  explicit NameRelease(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class NameLookup : public Handler {
 public:
  static constexpr const char* kCommand = "name.lookup";
  static constexpr const char* kDoc = "Answers the PID that holds a name.";

  explicit NameLookup(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

}  // namespace actord::handlers
