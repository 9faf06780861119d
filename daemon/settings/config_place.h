// Messages about a place in a configuration file.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actord::daemon {

// The lines of the text, without their ends.
std::vector<std::string_view> LinesOf(std::string_view text);

// " (column 11 of: workers = many)", for the end of a message that names the
// line already. Columns count from 1 and from the beginning of the line, whose
// indent the message leaves out. A long line is cut. The caller escapes
// characters that command a terminal. "" if the line is blank.
std::string InLine(std::string_view line, uint32_t column);

// What toml++ says of a mistake in the syntax, in the words of a user and with
// the correction, as far as the mistake is known.
std::string SyntaxMistake(std::string_view said);

}  // namespace actord::daemon
