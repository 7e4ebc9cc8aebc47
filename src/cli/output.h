// What a person reads, as their terminal can show it: plain ASCII where the locale asks for it, and lines
// that are broken between words where the window is narrower than they are. It stands behind stdout and
// stderr, so that no command has to think of either. JSON is told by how it begins: it keeps its lines, and
// its characters become escapes, which mean the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// LC_ALL, LC_CTYPE or LANG, as POSIX ranks them, names a character set other than UTF-8. False where none of
// them is set, as in a service or a container.
bool wants_ascii();

// "1.2 µs → 3" becomes "1.2 us -> 3"; what has no likeness becomes "?".
std::string as_ascii(std::string_view text);
// The same text within a JSON document: "\u2192".
std::string as_ascii_json(std::string_view text);

// Lines of at most `width` columns, broken at spaces; what continues a line is indented by two more. A word
// that is longer and a command, which begins with "$ " and is there to be copied, stay whole. A line that
// begins with a carriage return is progress and is cut instead.
std::string within_window(std::string_view text, std::size_t width);

// stdout and stderr from now on show their text so.
void adapt_output();

// What this command prints is to be copied or read by a program: its lines are not broken.
void keep_lines_whole();

}  // namespace railbed
