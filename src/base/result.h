// Operations that can fail return Result<T>: a value, or an Error that a person can act on.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace railbed {

enum class ErrorKind {
  kBadInput,     // the user's file, option or a peer's message is wrong
  kUnavailable,  // the thing asked for is not here (no device, no permission, no such host)
  kTimeout,      // it did not answer within its deadline
  kCancelled,    // Ctrl-C, or the other end went away
  kInternal,     // a bug of ours, said rather than hidden
  kKilled,       // the process that did it was killed, as the kernel does where memory has run out
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string
      text;  // what happened, to what, why and what to do next; one or more lines, no trailing newline
  // The node that it concerns, which the text then names; empty where it concerns none. Logic asks this and
  // the kind, never the text.
  std::string node = {};
  // The text begins with FILE:LINE:COLUMN, as compilers write it, and so does each complaint in it.
  bool placed = false;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  // NOLINTNEXTLINE: implicit on purpose, `return fail(...)` must read well.
  Result(tl::unexpected<Error> error) : tl::expected<T, Error>(std::move(error)) {}
};

inline tl::unexpected<Error> fail(ErrorKind kind, std::string text) {
  return tl::unexpected<Error>(Error{kind, std::move(text)});
}

// Passes an error on as it is.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// Passes an error on, saying first what the caller was doing: "read cluster.yaml: no such file".
inline tl::unexpected<Error> fail(Error error, std::string_view doing) {
  error.text = std::string(doing) + ": " + error.text;
  error.placed = false;
  return tl::unexpected<Error>(std::move(error));
}

// Returns the error of `expression`, a Result, from the function that this stands in; goes on where there is
// none.
#define RETURN_IF_ERROR(...)                                     \
  do {                                                           \
    if (auto railbed_result = (__VA_ARGS__); !railbed_result)    \
      return ::railbed::fail(std::move(railbed_result).error()); \
  } while (false)

// Declares a variable with the value of `expression`, a Result, or returns its error:
//   ASSIGN_OR_RETURN(const std::string text, read_file(path));
#define ASSIGN_OR_RETURN(declaration, ...) \
  RAILBED_ASSIGN_OR_RETURN(RAILBED_JOINED(railbed_result_, __LINE__), declaration, __VA_ARGS__)
#define RAILBED_ASSIGN_OR_RETURN(result, declaration, ...)        \
  auto result = (__VA_ARGS__);                                    \
  if (!result) return ::railbed::fail(std::move(result).error()); \
  declaration = *std::move(result)
#define RAILBED_JOINED(left, right) RAILBED_JOINED_NOW(left, right)
#define RAILBED_JOINED_NOW(left, right) left##right

// Says which node an error is of, unless it says so already: "gpu01: no such device".
Error at_node(std::string_view node, Error error);

// The process exit code that an error of this kind ends a command with (ARCHITECTURE.md, "Errors").
int exit_code(ErrorKind kind);

inline constexpr int kExitClean = 0;
inline constexpr int kExitWarnings = 1;
inline constexpr int kExitFailures = 2;
inline constexpr int kExitCouldNotLook = 3;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitInternal = 70;

}  // namespace railbed
