// A runtime that a script drives: the harness for authors' tests, or the real
// one without threads. Both are driven from outside, as a client does it, and
// run until nothing is ready.
//
// Thread-safety: one thread.
#pragma once

#include <actord/values.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actord::conformance {

class Driver {
 public:
  virtual ~Driver() = default;

  // A result, or an error with its text.
  struct Answer {
    Code code = Code::kOk;
    std::string text;
  };
  struct Submission {
    Pid pid;     // empty: refused
    Answer why;  // then
  };
  // A PID that there never was in this run.
  virtual Pid Nobody() = 0;
  virtual Submission Submit(const std::string& type, const std::string& method,
                            const std::string& input) = 0;
  // False: the process does not live.
  virtual bool Send(const Pid& to, const std::string& topic,
                    const std::string& text) = 0;
  virtual bool Cancel(const Pid& pid, const std::string& reason) = 0;
  virtual bool Terminate(const Pid& pid, const std::string& reason) = 0;
  // nullopt: there is no answer yet.
  virtual std::optional<Answer> Call(const Pid& to, const std::string& topic,
                                     const std::string& text) = 0;
  virtual void Advance(uint64_t ms) = 0;

  // Commands that wait to be completed from outside, oldest first.
  struct Held {
    Pid pid;
    std::string command;
    std::string payload;
  };
  virtual std::vector<Held> AllHeld() = 0;
  // The oldest of this command. False: there is none.
  virtual bool Complete(const std::string& command,
                        const std::string& text) = 0;
  virtual bool Fail(const std::string& command, Code code,
                    const std::string& text) = 0;

  // Has all processes of the type "puppet" go on in this version, 2 or 3.
  struct Upgraded {
    uint64_t upgraded = 0;
    uint64_t declined = 0;
  };
  virtual Upgraded Upgrade(int version) = 0;

  // How it ended, and with what; nullopt: it lives. Precondition: its result is
  // kept.
  virtual std::optional<std::pair<std::string, Answer>> OutcomeOf(
      const Pid& pid) = 0;
  virtual Pid HolderOf(const std::string& name) = 0;
  virtual uint64_t DeadLetters() = 0;
  // What was published since the last call, oldest first.
  struct Publication {
    Pid from;
    std::string topic;
    std::string text;
  };
  virtual std::vector<Publication> TakePublished() = 0;
  // The lines that processes have logged since the last call, oldest first.
  struct Line {
    Pid from;
    int level = 0;
    std::string text;
    bool step_failed = false;
  };
  virtual std::vector<Line> TakeLogged() = 0;
  virtual void Settle() = 0;
};

// Each is a run of its own.
std::unique_ptr<Driver> MakeHarnessDriver(uint64_t seed);
std::unique_ptr<Driver> MakeRuntimeDriver(int workers);

}  // namespace actord::conformance
