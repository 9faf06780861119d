// The candidates for the last word of a command line, for the completion of
// shells. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace actord::client {

struct Candidate {
  std::string value;
  std::string about;
};

// Values that only the daemon, the file of contexts or the file system knows.
enum class LiveValues {
  kNone,
  kProcessTypes,
  kMethods,
  kPids,  // and @NAMEs
  kTokens,
  kExternalCommands,
  kContexts,
  kFiles,  // the shell knows them
};

struct Completion {
  std::vector<Candidate> known;
  LiveValues live = LiveValues::kNone;
  // The process type of `submit`, or of `call --start`, for its methods; "": it
  // is not typed yet.
  std::string process_type;
  // The global options that were typed, with their values.
  std::vector<std::string> global;
  // The common beginning of the candidates, and the part of the last word
  // before it.
  std::string beginning;
  std::string before;
};

// `words` are those behind "actorctl"; the last of them, which may be empty, is
// to be completed.
Completion CompletionOf(const CLI::App& app,
                        const std::vector<std::string>& words);

}  // namespace actord::client
