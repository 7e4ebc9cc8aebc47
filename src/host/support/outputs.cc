#include "host/support/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace railbed {
namespace {

// If two names begin alike, the longer is first.
constexpr std::string_view kPrograms[] = {
    "mlxfwmanager", "ibdev2netdev", "nvidia-smi", "ibv_devinfo", "timedatectl", "journalctl", "gdscheck.py",
    "mlxconfig",    "mstconfig",    "show_gids",  "gdscheck",    "hostname",    "ipmitool",   "ibstatus",
    "ethtool",      "numactl",      "mlxlink",    "mstlink",     "ibstat",      "uptime",     "sysctl",
    "lspci",        "dmesg",        "lscpu",      "lsmod",       "mlxup",       "modinfo",    "dcgmi",
    "uname",        "rdma",         "date",       "ip"};

// Its output is that of a file. A file's name that begins so means nothing.
constexpr std::string_view kCat = "cat";

constexpr std::string_view kEndings[] = {".txt", ".log", ".out", ".json", ".xml"};

std::string_view without_ending(std::string_view name) {
  for (const auto ending : kEndings)
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

std::string_view program_at(std::string_view text) {
  for (const auto program : kPrograms) {
    if (!text.starts_with(program)) continue;
    const auto rest = text.substr(program.size());
    if (rest.empty() || rest[0] == '_' || rest[0] == '-' || rest[0] == ' ' || rest[0] == '.') return program;
  }
  return {};
}

constexpr std::string_view kBetween = "-_. ";

}  // namespace

std::span<const std::string_view> readable_programs() { return kPrograms; }

std::string_view before_program(std::string_view file_name) {
  const auto name = without_ending(file_name);
  for (std::size_t at = 1; at < name.size(); ++at) {
    if (kBetween.find(name[at - 1]) == kBetween.npos || program_at(name.substr(at)).empty()) continue;
    const auto last = name.find_last_not_of(kBetween, at - 1);
    return last == name.npos ? std::string_view() : name.substr(0, last + 1);
  }
  return {};
}

std::vector<std::string> words_of_name(std::string_view file_name) {
  const auto name = without_ending(file_name);
  const auto program = program_at(name);
  if (program.empty()) return {};
  std::vector<std::string> found{std::string(program)};
  // "_" separates words, and so does a dash, except within a name: "lspci-vvv", "ip-d-a", "ethtool_-i_en-x".
  std::string word;
  for (const char c : name.substr(program.size())) {
    const bool begins = c == '_' || c == ' ' || (c == '-' && word.starts_with("-") && word != "-");
    if (begins && !word.empty()) found.push_back(std::exchange(word, ""));
    if (c != '_' && c != ' ') word += c;
  }
  if (!word.empty()) found.push_back(std::move(word));
  return found;
}

std::vector<std::string> words_of_command(std::string_view line) {
  while (line.ends_with(':')) line.remove_suffix(1);
  std::vector<std::string> found;
  for (const auto word : words(line)) found.emplace_back(word);
  if (found.empty()) return {};
  // "/usr/bin/dmesg", "/usr/local/cuda/gds/tools/gdscheck", not "/var/log/dmesg", which is a file.
  const auto slash = found[0].rfind('/');
  const std::string folder = found[0].substr(0, slash == std::string::npos ? 0 : slash);
  const bool is_program = slash == std::string::npos || folder == "." || folder.ends_with("bin") ||
                          folder.ends_with("/gds/tools");
  if (!is_program) return {};
  found[0] = found[0].substr(slash + 1);
  if (found[0] != kCat && std::ranges::find(kPrograms, found[0]) == std::end(kPrograms)) return {};
  return found;
}

std::string flags_of(const std::vector<std::string>& words) {
  std::string flags;
  for (std::size_t i = 1; i < words.size(); ++i)
    flags += words[i].substr(std::min(words[i].find_first_not_of('-'), words[i].size()));
  return flags;
}

std::string command_of(const Output& output) { return fmt::format("{}", fmt::join(output.words, " ")); }

// ECMA-48, 5.4: ESC [, parameters and intermediates, then one final byte from @ to ~.
std::string without_colours(std::string text) {
  constexpr std::string_view kBegins = "\x1b[";
  auto at = text.find(kBegins);
  if (at == text.npos) return text;
  std::string plain = text.substr(0, at);
  while (at < text.size()) {
    auto end = at + kBegins.size();
    while (end < text.size() && text[end] >= ' ' && text[end] < '@') ++end;
    const auto from = std::min(end + 1, text.size());
    at = std::min(text.find(kBegins, from), text.size());
    plain.append(text, from, at - from);
  }
  return plain;
}

void Outputs::add(Output output) {
  output.text = without_colours(std::move(output.text));
  all_.push_back(std::move(output));
}

std::vector<const Output*> Outputs::of(std::string_view program) const {
  std::vector<const Output*> found;
  for (const Output& output : all_)
    if (output.words[0] == program) found.push_back(&output);
  return found;
}

const Output* Outputs::find(std::string_view program, const std::vector<std::string_view>& flags) const {
  for (const auto flag : flags)
    for (const Output* output : of(program))
      if (flags_of(output->words) == flag) return output;
  return nullptr;
}

}  // namespace railbed
