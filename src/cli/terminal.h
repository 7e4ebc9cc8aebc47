// Messages of commands to a person: errors, progress, colors only on a terminal.
#pragma once

#include <fmt/format.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "campaign/caller.h"

namespace railbed {

// Writes to stderr and ignores failures: if stderr is full or closed, {fmt} would throw, which ends the
// process from any thread but the first. Thread-safe.
void write_to_stderr(std::string_view text);
template <class... Values>
void print_to_stderr(fmt::format_string<Values...> text, Values&&... values) {
  write_to_stderr(fmt::format(text, std::forward<Values>(values)...));
}

// Prints "railbed: …" to stderr and returns the exit code of the error's kind.
int report(const Error& error);

// Writes "railbed: …" to stderr and ignores failures. Thread-safe.
void say_to_person(std::string_view line);

// True if `fd` is a terminal, TERM is not "dumb" and NO_COLOR is unset (no-color.org).
bool use_colour(int fd);

// Shows the current activity in a line on stderr. On a terminal the line is rewritten in place; elsewhere
// each activity is a line of its own, without the count of nodes, which would fill a log. An empty message
// removes the line. Thread-safe.
void progress(std::string_view message);
// Removes that line, so that output can follow. Thread-safe.
void clear_progress();

// Returns a token on which a stop is requested at the first SIGINT, SIGTERM, SIGHUP or SIGQUIT. The handlers
// are installed on the first call. The same signal again ends the process at once.
std::stop_token interrupted();

// Returns true if the first of these signals was SIGHUP: the terminal is gone.
bool hung_up();

// Asks a person a yes-or-no question. True only for yes; false if standard input is no terminal.
bool asks_person(std::string_view question);

// Returns the caller for campaigns: Ctrl-C stops them, and their messages go to stderr.
Caller terminal_caller();

}  // namespace railbed
