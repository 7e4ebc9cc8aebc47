// What commands say to a person: errors, progress, colours only on a terminal.
#pragma once

#include <fmt/format.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "campaign/caller.h"

namespace railbed {

// Writes to stderr, and goes on whatever becomes of it: where stderr is full or closed {fmt} would throw,
// which ends the process from any thread but the first. Callable from any thread.
void write_to_stderr(std::string_view text);
template <class... Values>
void print_to_stderr(fmt::format_string<Values...> text, Values&&... values) {
  write_to_stderr(fmt::format(text, std::forward<Values>(values)...));
}

// Prints "railbed: …" to stderr and returns the exit code of the error's kind.
int report(const Error& error);

// "railbed: …" on stderr, whatever becomes of it. Callable from any thread.
void say_to_person(std::string_view line);

// True when `fd` is a terminal, TERM is not "dumb" and NO_COLOR is unset (no-color.org).
bool use_colour(int fd);

// A line on stderr that says what is being done now. On a terminal it is rewritten in place; elsewhere each
// new message is a line of its own. An empty one removes the line. Thread-safe.
void progress(std::string_view message);
// Removes the line, so that output can follow.
void clear_progress();

// Requested at the first SIGINT, SIGTERM, SIGHUP or SIGQUIT. The handlers are installed on the first call; a
// second signal ends the process at once.
std::stop_token interrupted();

// Asks a person, who has to say yes; false as well where standard input is no terminal.
bool asks_person(std::string_view question);

// Campaigns hear of Ctrl-C by it, and say what they do on stderr.
Caller terminal_caller();

}  // namespace railbed
