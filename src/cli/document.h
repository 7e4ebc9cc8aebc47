// Declares the documents of --json, so that `railbed schema` knows them all, and prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace railbed {

struct DocumentKind {
  std::string_view format;
  int version;
  std::string_view list;
  json::Value (*schema)(std::string_view format, int version, std::string_view list);
};

// The documents of all commands that are declared, in the order of their declaration.
const std::vector<DocumentKind>& declared_documents();
void declare_document(const DocumentKind& kind);
template <class T>
void declare_document(const Document<T>& document) {
  declare_document({document.format, document.version, document.list, json::document_schema<T>});
}
CLI::Option* add_json_option(CLI::App& app, bool& json, const std::string& help);

// Declares --json, and the documents that it prints.
template <class... T>
CLI::Option* add_json_flag(CLI::App& app, bool& json, const std::string& help,
                           const Document<T>&... documents) {
  (declare_document(documents), ...);
  return add_json_option(app, json, help);
}

// Prints to standard output the document or the text that the command was run for.
void print_result(const std::string& text);
template <class T>
void print_document(const Document<T>& document, const T& value) {
  print_result(document_text(document, value));
}

// From now on the first error that ends a command without a document is printed as one (`railbed-error`), in one
// line on standard error, behind its text. Standard output holds the document that the command was run for, or
// nothing.
void report_errors_as_json();
// Keeps an error for that document. Only the first counts.
void keep_error(const Error& error);
// Prints that document if it is due: --json was given, nothing was printed, and the command failed with this exit code.
void print_kept_error(int exit_code);

}  // namespace railbed
