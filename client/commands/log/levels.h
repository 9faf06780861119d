// The words for the levels of the log: debug, info, warning, error.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "actord/v1/log.pb.h"

namespace actord::client {

std::vector<std::string> LevelWords();
// LOG_LEVEL_UNSPECIFIED for any other word.
v1::LogLevel LevelOf(const std::string& word);
// The level's number if this build does not know the level.
std::string LevelWord(v1::LogLevel level);

}  // namespace actord::client
