#include "host/support/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "host/support/bug_report.h"
#include "host/support/interpret.h"
#include "host/support/outputs.h"
#include "host/support/pasted.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommands = "sos_commands/";
constexpr std::string_view kCopied[] = {"proc/", "sys/", "etc/", "run/", "lib/", "usr/", "boot/"};

bool is_copy(std::string_view path) {
  return std::ranges::any_of(kCopied, [&](std::string_view start) { return path.starts_with(start); });
}

bool holds_commands(const Sent& sent) {
  const auto first = sent.files.lower_bound(kCommands);
  return first != sent.files.end() && first->first.starts_with(kCommands);
}

// Returns the folder that contains all files, with its slash: "sosreport-gpu01-2026-01-19-abcdefg/"; empty if
// there is none.
std::string top_of(const Sent& sent) {
  if (holds_commands(sent) || sent.files.empty()) return "";
  const std::string& first = sent.files.begin()->first;
  const auto slash = first.find('/');
  const std::string top = slash == std::string::npos ? "" : first.substr(0, slash + 1);
  const bool all =
      std::ranges::all_of(sent.files, [&](const auto& one) { return one.first.starts_with(top); });
  return all && !is_copy(top) ? top : "";
}

template <class Map>
Map without_top(Map map, const std::string& top) {
  Map shorter;
  while (!map.empty()) {
    auto one = map.extract(map.begin());
    if (!one.key().starts_with(top)) continue;
    one.key().erase(0, top.size());
    shorter.insert(std::move(one));
  }
  return shorter;
}

// Folders that are complete in a sosreport: sos copies some files of every module, so each has its folder.
constexpr std::string_view kWhole[] = {"/sys/module", "/sys/devices/system/cpu/cpufreq"};

void add_copies(Sent& sent, ReportTree& report) {
  for (auto& [path, file] : sent.files)
    if (is_copy(path)) report.copy("/" + path, std::move(file.content));
  for (const auto& [path, target] : sent.links)
    if (is_copy(path)) report.link("/" + path, target);
  for (const auto folder : kWhole)
    if (report.has(folder)) report.whole(folder);
}

// Adds the outputs of a sosreport's commands. Their names are sos's own.
void add_named_outputs(Sent& sent, Outputs& outputs) {
  for (auto& [path, file] : sent.files) {
    auto words = is_copy(path) ? std::vector<std::string>() : words_of_name(path.substr(path.rfind('/') + 1));
    if (!words.empty()) outputs.add({std::move(words), std::move(file.content), file.modified});
  }
}

// Adds the outputs in files that a person put together. Copied files are skipped: nothing shows that they are whole.
Result<void> add_outputs(Sent& sent, Outputs& outputs) {
  for (auto& [path, file] : sent.files) {
    if (is_copy(path)) continue;
    ASSIGN_OR_RETURN(auto found, outputs_in(path, std::move(file.content)));
    for (Output& output : found) {
      output.when = file.modified;
      outputs.add(std::move(output));
    }
  }
  return {};
}

std::string node_in(const ReportTree& report) {
  const std::string name(trim(report.text("/proc/sys/kernel/hostname")));
  return is_plain_word(name, 253) && name.find('/') == name.npos ? name : "";
}

bool is_output(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_regular_file(error) && !words_of_name(entry.path().filename().string()).empty();
}

bool is_report_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder / "sos_commands", error)) return true;
  for (const auto* machine : {"proc", "sys", "etc"})
    if (fs::is_directory(folder / machine, error)) return false;
  return std::ranges::any_of(fs::directory_iterator(folder, error), is_output);
}

bool is_plain_output(const std::string& file) {
  auto text = read_file(file);
  if (!text) return false;
  if (is_bug_report(*text)) return true;
  const auto outputs = outputs_in(file, std::move(*text));
  return !outputs || !outputs->empty();  // read_support_report() returns the error
}

tl::unexpected<Error> no_report(std::string_view name) {
  return fail(
      ErrorKind::kBadInput,
      fmt::format("{}: neither a sosreport, nor an nvidia-bug-report, nor a folder of command outputs; "
                  "`railbed capture` writes what railbed reads best",
                  name));
}

}  // namespace

bool is_support_report(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return is_report_folder(path);
  if (!fs::is_regular_file(path, error)) return false;
  const SentKind kind = kind_of(path);
  return kind == SentKind::kPacked || (kind == SentKind::kText && is_plain_output(path));
}

Result<SupportReport> report_of(Sent sent, std::string_view name) {
  SupportReport report;
  Outputs outputs;
  if (const auto single = sent.files.find(kSingleFile);
      single != sent.files.end() && sent.files.size() == 1) {
    std::string& text = single->second.content;
    if (is_bug_report(text)) {
      read_bug_report(text, report.tree, outputs);
    } else {
      ASSIGN_OR_RETURN(auto found, outputs_in(name, std::move(text)));
      for (Output& output : found) outputs.add(std::move(output));
      if (outputs.empty()) return no_report(name);
    }
  } else {
    const std::string top = top_of(sent);
    sent.files = without_top(std::move(sent.files), top);
    sent.links = without_top(std::move(sent.links), top);
    const bool is_sosreport = holds_commands(sent);
    if (is_sosreport) {
      add_named_outputs(sent, outputs);
      add_copies(sent, report.tree);
    } else {
      RETURN_IF_ERROR(add_outputs(sent, outputs));
    }
    if (outputs.empty()) return no_report(name);
  }
  interpret(outputs, report.tree);
  if (report.tree.empty())
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{}: holds nothing that railbed understands; docs/how-to/from-a-sosreport.md lists the "
                    "commands whose output it reads",
                    name));
  report.node = node_in(report.tree);
  return report;
}

Result<SupportReport> read_support_report(const std::string& path, const SentLimits& limits) {
  std::error_code error;
  ASSIGN_OR_RETURN(
      auto sent, fs::is_directory(path, error) ? read_sent_folder(path, limits) : read_archive(path, limits));
  return report_of(std::move(sent), path);
}

}  // namespace railbed
