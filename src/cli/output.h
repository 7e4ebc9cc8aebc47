// Output for a person, adapted to the terminal: plain ASCII if the locale requires it, and lines broken
// between words if the window is narrower. It works behind stdout and stderr, so that commands need not care.
// JSON is recognized by its beginning: its lines stay whole, and its characters become escapes, which mean
// the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// True if LC_ALL, LC_CTYPE or LANG, in POSIX's order, names a character set other than UTF-8. False if none
// of them is set, as in a service or a container.
bool wants_ascii();

// Turns "1.2 µs → 3" into "1.2 us -> 3"; a character without a similar one becomes "?".
std::string as_ascii(std::string_view text);
// Returns the same text for a JSON document: "\u2192".
std::string as_ascii_json(std::string_view text);

// Breaks lines at spaces so that they have at most `width` columns; the continuation is indented by two more.
// A longer word stays whole, and so does a command, which begins with "$ ", because people copy it. A line
// that begins with a carriage return is progress and is cut instead.
std::string within_window(std::string_view text, std::size_t width);

// Adapts stdout and stderr from now on.
void adapt_output();

// Turns off the breaking of lines for this command, whose output is to be copied or read by a program.
void keep_lines_whole();

}  // namespace railbed
