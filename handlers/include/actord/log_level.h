// actord/log_level.h: the levels of lines in the daemon's log. Included by
// process.h and handler.h.
//
// Thread-safety: a plain value.
#pragma once

#include <actord/abi_handler.h>

#include <cstdint>

namespace actord {

enum class LogLevel : int32_t {
  kDebug = ACTORD_LOG_DEBUG,
  kInfo = ACTORD_LOG_INFO,
  kWarning = ACTORD_LOG_WARNING,
  kError = ACTORD_LOG_ERROR,
};

}  // namespace actord
