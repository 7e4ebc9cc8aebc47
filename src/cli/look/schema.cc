// railbed schema: the form of each document that a command prints with --json.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/app.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

// Returns the kinds of documents, in the order of their formats. Declares all commands, since those know their documents.
std::vector<DocumentKind> all_documents() {
  Action none;
  const auto app = build_app(none);
  std::vector<DocumentKind> kinds = declared_documents();
  std::ranges::sort(kinds, {}, &DocumentKind::format);
  return kinds;
}

int run_schema(const std::string& format) {
  const auto kinds = all_documents();
  if (format.empty()) {
    for (const DocumentKind& kind : kinds) fmt::print("{} {}\n", kind.format, kind.version);
    return kExitClean;
  }
  const auto kind = std::ranges::find(kinds, format, &DocumentKind::format);
  if (kind == kinds.end()) {
    std::vector<std::string_view> formats;
    for (const DocumentKind& one : kinds) formats.push_back(one.format);
    return report({ErrorKind::kBadInput, fmt::format("no document \"{}\"{}\nSee: railbed schema",
                                                     printable(format), did_you_mean(format, formats))});
  }
  keep_lines_whole();
  print_result(json::dump_pretty(kind->schema(kind->format, kind->version, kind->list)));
  return kExitClean;
}

}  // namespace

Action declare_schema(CLI::App& app) {
  auto format = std::make_shared<std::string>();
  app.add_option("FORMAT", *format,
                 "the `format` of a document, as in railbed-findings; without it: all that there are");
  app.footer(
      "\nPrints a JSON Schema (draft 2020-12), made from the fields that the program itself writes. Each document that\n"
      "--json prints begins with `format` and `version`; the version grows when a field changes its meaning or goes away.\n"
      "Examples:\n"
      "  railbed schema\n"
      "  railbed schema railbed-findings > findings.schema.json");
  return [format] { return run_schema(*format); };
}

}  // namespace railbed
