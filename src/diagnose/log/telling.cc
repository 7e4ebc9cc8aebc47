// Finds the most telling lines of a log of which no table knows a line: an exception's last line, a line of an error,
// or one with a word of failure. Reads from the form of such a line which program wrote it (tables/origins.cc).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/state.h"
#include "diagnose/tables/origins.h"

namespace railbed::diagnose {
namespace {

struct Word {
  std::string_view text;
  int weight;
};

constexpr int kException = 3;
constexpr int kErrorLine = 2;
constexpr int kHint = 1;
constexpr Word kWords[] = {
    {"Error: ", kException},
    {"Exception: ", kException},
    {"Segmentation fault", kException},
    {"FATAL", kErrorLine},
    {"fatal: ", kErrorLine},
    {"fatal error", kErrorLine},
    {"ERROR", kErrorLine},
    {"error: ", kErrorLine},
    {"Error ", kErrorLine},
    {"Out Of Memory", kErrorLine},
    {"Killed", kErrorLine},
    {"ailed", kHint},
    {"FAILED", kHint},
    {"annot ", kHint},
    {"nable to ", kHint},
    {"denied", kHint},
    {"refused", kHint},
    {"No such ", kHint},
    {"not found", kHint},
    {"Aborted", kHint},
    {"imed out", kHint},
    {"imeout", kHint},
    {"rror!", kHint},
    {"rror:", kHint},
    {"rror (", kHint},
    {"rror received", kHint},
    {"rror cqe", kHint},
    {"atal", kHint},
    {"WARN", kHint},
    {"an't ", kHint},
    {"ouldn't ", kHint},
    {"nvalid ", kHint},
    {"mismatch", kHint},
    {"is not ", kHint},
    {"not supported", kHint},
    {"nsupported", kHint},
    {"not enough", kHint},
    {"nsufficient", kHint},
    {"no space", kHint},
    {"overflow", kHint},
    {"dropping", kHint},
    {"conflict", kHint},
    {"onflicts", kHint},
    {"stuck", kHint},
    {"exceed", kHint},
    {"aborting", kHint},
    {"rejected", kHint},
    {"was not called", kHint},
    {"were not ", kHint},
    {"No NVIDIA", kHint},
    {"No devices", kHint},
    {"core dumped", kHint},
    {"segfault", kHint},
    {"Reason=", kHint},
    {"unavailable", kHint},
    {"too quickly", kHint},
    {"unhealthy", kHint},
    {"not ready", kHint},
    {"missed", kHint},
};

constexpr std::size_t kMostLines = 64;
constexpr std::size_t kAlike = 40;  // lines of one beginning repeat each other

const Phrases& words() {
  static const Phrases phrases = [] {
    std::vector<std::string_view> texts;
    for (const Word& word : kWords) texts.push_back(word.text);
    return Phrases(texts);
  }();
  return phrases;
}

// Returns the text without a launcher's prefix, so that the same message of several ranks counts once.
std::string_view without_prefix(std::string_view line) {
  line = trim(line);
  if (line.starts_with('['))
    if (const auto close = line.find("]: "); close != std::string_view::npos && close < 16)
      line = trim(line.substr(close + 3));
  return line;
}

// Returns true for a line of `nvidia-smi -q`, `mlxlink` (also --json) or `lspci -vv` that names an error among the things it
// counts or could report, and shows none: "Correctable Error   : 0", "DevSta: CorrErr- UncorrErr- …"; and for a line by
// which NVIDIA's tools report that a step was done: "-I- … finished successfully".
bool is_reading(std::string_view text) {
  if (text.starts_with('"')) text.remove_prefix(1);
  constexpr std::string_view kBegins[] = {"-I- ",
                                          "DevCap",
                                          "DevCtl",
                                          "DevSta:",
                                          "AERCap:",
                                          "UESta:",
                                          "UEMsk:",
                                          "UESvrt:",
                                          "CESta:",
                                          "CEMsk:",
                                          "RootCap",
                                          "RootCmd",
                                          "RootCtl",
                                          "RootSta:",
                                          "Retimer",
                                          "Capabilities: [",
                                          "Error Code Response"};
  if (std::ranges::any_of(kBegins, [&](std::string_view begin) { return text.starts_with(begin); }))
    return true;
  constexpr std::string_view kSound[] = {"0",          "N/A",      "No",      "None",    "Not Active",
                                         "No Pending", "Disabled", "Enabled", "Inactive"};
  const auto colon = text.find(" : ");
  if (colon == text.npos) return false;
  auto value = trim(text.substr(colon + 3));
  if (value.ends_with(',')) value.remove_suffix(1);
  if (value.size() > 1 && value.starts_with('"') && value.ends_with('"'))
    value = value.substr(1, value.size() - 2);
  return std::ranges::find(kSound, value) != std::end(kSound);
}

}  // namespace

void LogState::read_telling(std::string_view line) {
  if (telling.size() >= kMostLines) return;
  int weight = 0;
  words().visit(line, [&](std::size_t index) { weight = std::max(weight, kWords[index].weight); });
  if (weight == 0) return;
  const std::string_view text = without_prefix(line);
  if (text.starts_with("File \"") || is_reading(text)) return;  // a frame of a traceback is none, either
  const auto is_known = [&](const TellingLine& known) {
    return std::string_view(known.sight.text).substr(0, kAlike) == text.substr(0, kAlike);
  };
  if (std::ranges::any_of(telling, is_known)) return;
  TellingLine& kept = telling.emplace_back();
  kept.weight = weight;
  keep_sight(kept.sight, text);
}

LineMeaning meaning_of(std::string_view line) {
  LineMeaning meaning;
  const auto is_in = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  const Origin* origin = nullptr;
  for (const Origin& row : origins())
    if (origin == nullptr && is_in(row.words)) origin = &row;
  const NamedCall* call = nullptr;
  for (const NamedCall& row : named_calls())
    if (is_in(row.name) && (call == nullptr || row.name.size() > call->name.size())) call = &row;
  const ErrorText* error = nullptr;
  for (const ErrorText& row : error_texts())
    if (is_in(row.text) && (error == nullptr || row.text.size() > error->text.size())) error = &row;
  if (origin != nullptr) meaning.printer = origin->name;
  if (call != nullptr) meaning.text = fmt::format("{} {}.", call->name, call->does);
  if (error != nullptr)
    meaning.text +=
        fmt::format("{}\"{}\" is {}.", meaning.text.empty() ? "" : " ", error->text, error->means);
  if (call != nullptr && !call->look.empty())
    meaning.look = call->look;
  else if (origin != nullptr)
    meaning.look = origin->look;
  meaning.weight = (origin != nullptr ? 1 : 0) + (call != nullptr ? 2 : 0) + (error != nullptr ? 1 : 0);
  return meaning;
}

const LogSight* exception_before(const LogState& state, const LogProblem& problem) {
  const LogSight* last = nullptr;  // the last of a chain is the one that nobody caught
  for (const TellingLine& line : state.telling)
    if (line.weight == kException && line.sight.file == problem.file && line.sight.line < problem.line)
      last = &line.sight;
  return last;
}

std::vector<LogSight> most_telling(const LogState& state, std::size_t most) {
  std::vector<TellingLine> lines = state.telling;
  std::ranges::stable_sort(lines, std::ranges::greater(), &TellingLine::weight);
  lines.resize(std::min(lines.size(), most));
  std::vector<LogSight> sights;
  std::ranges::transform(lines, std::back_inserter(sights), &TellingLine::sight);
  std::ranges::stable_sort(sights, {},
                           [](const LogSight& sight) { return std::pair(sight.file, sight.line); });
  return sights;
}

}  // namespace railbed::diagnose
