#include "cli/document.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <mutex>
#include <optional>

#include "base/fields.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

std::vector<DocumentKind>& kinds() {
  static std::vector<DocumentKind> all;
  return all;
}

// The document of an error, which a command with --json prints to standard error if it has no other.
struct ErrorDocument {
  std::string kind;
  std::string message;
  std::string node;
  int exit_code = 0;
  FIELDS(ErrorDocument, kind, message, node, exit_code);
};
constexpr Document<ErrorDocument> kErrorDocument{"railbed-error"};

struct KeptError {
  std::mutex mutex;
  bool wanted = false;
  bool printed = false;
  std::optional<Error> first;
};
KeptError& kept() {
  static KeptError one;
  return one;
}

std::string_view kind_word(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return "bad input";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kCancelled:
      return "cancelled";
    case ErrorKind::kInternal:
      return "internal";
    case ErrorKind::kKilled:
      return "killed";
  }
  return "internal";
}

}  // namespace

const std::vector<DocumentKind>& declared_documents() {
  declare_document(kErrorDocument);
  return kinds();
}

void declare_document(const DocumentKind& kind) {
  if (std::ranges::find(kinds(), kind.format, &DocumentKind::format) == kinds().end())
    kinds().push_back(kind);
}

CLI::Option* add_json_option(CLI::App& app, bool& json, const std::string& help) {
  return app.add_flag("--json", json, help);
}

void print_result(const std::string& text) {
  {
    const std::lock_guard lock(kept().mutex);
    kept().printed = true;
  }
  fmt::print("{}", text);
}

void report_errors_as_json() {
  const std::lock_guard lock(kept().mutex);
  kept().wanted = true;
}

void keep_error(const Error& error) {
  const std::lock_guard lock(kept().mutex);
  if (!kept().first) kept().first = error;
}

void print_kept_error(int exit_code) {
  KeptError& state = kept();
  const std::lock_guard lock(state.mutex);
  if (!state.wanted || state.printed || !state.first || exit_code == kExitClean) return;
  const ErrorDocument document{std::string(kind_word(state.first->kind)), state.first->text,
                               state.first->node, exit_code};
  keep_lines_whole();
  print_to_stderr("{}\n", json::dump(with_head(kErrorDocument.format, kErrorDocument.version,
                                               kErrorDocument.list, json::encode(document))));
}

}  // namespace railbed
