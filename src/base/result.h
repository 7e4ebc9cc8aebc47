// Operations that can fail return Result<T>: a value, or an Error that a person can act on.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace railbed {

enum class ErrorKind {
  kBadInput,     // the user's file, option or a peer's message is wrong
  kUnavailable,  // a device, host or permission is missing
  kTimeout,      // no response within the deadline
  kCancelled,    // Ctrl-C, or the other end went away
  kInternal,     // a bug in railbed, reported rather than hidden
  kKilled,       // the process that did the work was killed, as the kernel does when memory runs out
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  // The message: what happened, to what, why and what to do next. One or more lines without a trailing
  // newline.
  std::string text;
  // The node concerned, which `text` then names; empty if the error concerns none. Code decides by this
  // member and by `kind`, never by the text.
  std::string node = {};
  // True if the text, and each complaint in it, begins with FILE:LINE:COLUMN, as compilers write it.
  bool placed = false;
};

// A value or an Error.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  // NOLINTNEXTLINE: implicit on purpose, `return fail(...)` must read well.
  Result(tl::unexpected<Error> error) : tl::expected<T, Error>(std::move(error)) {}
};

// Makes the Result of a failed operation: return fail(kind, text).
inline tl::unexpected<Error> fail(ErrorKind kind, std::string text) {
  return tl::unexpected<Error>(Error{kind, std::move(text)});
}

// The same from an existing error, unchanged.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// The same from an existing error, with the failed action in front: "read cluster.yaml: no such file".
inline tl::unexpected<Error> fail(Error error, std::string_view doing) {
  error.text = std::string(doing) + ": " + error.text;
  error.placed = false;
  return tl::unexpected<Error>(std::move(error));
}

// Evaluates an expression of type Result<T>. If it holds an error, returns that error from the enclosing
// function. The value is dropped.
#define RETURN_IF_ERROR(...)                                     \
  do {                                                           \
    if (auto railbed_result = (__VA_ARGS__); !railbed_result)    \
      return ::railbed::fail(std::move(railbed_result).error()); \
  } while (false)

// Declares a variable with the value of a Result<T>, or returns the error from the enclosing function:
//   ASSIGN_OR_RETURN(const std::string text, read_file(path));
#define ASSIGN_OR_RETURN(declaration, ...) \
  RAILBED_ASSIGN_OR_RETURN(RAILBED_JOINED(railbed_result_, __LINE__), declaration, __VA_ARGS__)
#define RAILBED_ASSIGN_OR_RETURN(result, declaration, ...)        \
  auto result = (__VA_ARGS__);                                    \
  if (!result) return ::railbed::fail(std::move(result).error()); \
  declaration = *std::move(result)
#define RAILBED_JOINED(left, right) RAILBED_JOINED_NOW(left, right)
#define RAILBED_JOINED_NOW(left, right) left##right

// Puts the node's name in front of an error, "gpu01: no such device", unless the error already has that node.
Error at_node(std::string_view node, Error error);

// Returns the process exit code of a command that ends with an error of this kind (ARCHITECTURE.md,
// "Errors").
int exit_code(ErrorKind kind);

inline constexpr int kExitClean = 0;
inline constexpr int kExitWarnings = 1;
inline constexpr int kExitFailures = 2;
inline constexpr int kExitCouldNotLook = 3;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitInternal = 70;

}  // namespace railbed
