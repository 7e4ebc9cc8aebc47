// Checks names, values and versions of variables, independent of the node.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "hardware/gpudirect.h"
#include "nccl/linter.h"

namespace railbed::nccl {
namespace {

// Names that begin with NCCL_ and are read by other software.
constexpr std::string_view kForeignPrefixes[] = {"NCCL_OFI_",   "NCCL_TESTS_",   "NCCL_SHARP_",
                                                 "NCCL_UCX_",   "NCCL_FASTRAK_", "NCCL_GPUVIZ_",
                                                 "NCCL_IBEXT_", "NCCL_SPCX_"};
constexpr std::string_view kForeignNames[] = {
    "NCCL_HOME",    "NCCL_ROOT",    "NCCL_ROOT_DIR", "NCCL_LIB_DIR",   "NCCL_DIR",         "NCCL_INCLUDE_DIR",
    "NCCL_VERSION", "NCCL_LIBRARY", "NCCL_PATH",     "NCCL_LIBRARIES", "NCCL_INSTALL_PATH"};
// PyTorch read these until 2.2 and since then under TORCH_NCCL_… (torch/csrc/distributed/c10d).
constexpr std::string_view kTorchNames[] = {"NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT",
                                            "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING",
                                            "NCCL_TRACE_BUFFER_SIZE"};

template <std::size_t N>
bool among(const std::string_view (&names)[N], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

void name_is_known(Linter& lint, const NcclVariable& set) {
  if (among(kForeignNames, set.name)) return;
  if (std::ranges::any_of(kForeignPrefixes,
                          [&](std::string_view prefix) { return set.name.starts_with(prefix); }))
    return;
  if (among(kTorchNames, set.name)) {
    lint.say(Severity::kNote, "not-nccl", set, "is no variable of NCCL: PyTorch read it until 2.2",
             Fix(fmt::format("Write TORCH_{}.", set.name)), "PyTorch ProcessGroupNCCL");
    return;
  }
  std::vector<std::string_view> names;
  for (const Variable& variable : all_variables()) names.push_back(variable.name);
  const auto meant = closest(set.name, names);
  lint.say(
      Severity::kWarning, "unknown", set,
      meant ? fmt::format("is no variable of NCCL's; did you mean {}?", *meant) : "is no variable of NCCL's",
      meant ? Fix(fmt::format("Write {}, or remove the line.", *meant)) : remove_line());
}

void version_has_it(Linter& lint, const NcclVariable& set, const Variable& known) {
  const bool gone = known.until != Version{} && (!lint.version || *lint.version >= known.until);
  if (gone)
    lint.say(Severity::kWarning, "removed", set,
             fmt::format("does nothing: NCCL dropped it in {}", known.until.to_text()),
             known.instead.empty()
                 ? remove_line()
                 : Fix(fmt::format("Remove the line; {} takes its place.", known.instead), ""));
  else if (lint.older_than(known.since))
    lint.say(Severity::kWarning, "too-new", set,
             fmt::format("does nothing in NCCL {}: it came with {}", lint.version->to_text(),
                         known.since.to_text()),
             "Upgrade NCCL, or remove the line.");
  else if (!known.instead.empty() && known.until == Version{})
    lint.say(Severity::kNote, "deprecated", set, fmt::format("is deprecated in favour of {}", known.instead),
             Fix(fmt::format("Write {}.", known.instead)));
}

// Returns the number if the whole text is a decimal or hexadecimal number. NCCL reads it with strtoll(…, 0).
std::optional<long long> whole_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  return parse_number<long long>(text, hex ? 16 : 10);
}

void number_is_valid(Linter& lint, const NcclVariable& set, const Variable& known) {
  const bool flag = known.takes.kind == Kind::kFlag;
  const std::string range = flag ? "0 or 1" : fmt::format("{} to {}", known.takes.low, known.takes.high);
  const auto number = whole_number(set.value);
  if (!number) {
    lint.say(Severity::kError, "not-a-number", set,
             fmt::format("is no number; NCCL reads {} here", lint.settings.number(set.name).value_or(0)),
             fmt::format("Write {}.", range));
  } else if (set.name == "NCCL_IB_RETRY_CNT" && (*number < 0 || *number > 7)) {
    lint.say(Severity::kError, "out-of-range", set, "does not fit: the field has three bits",
             Fix("Write 7, the most.", "7"), "InfiniBand specification 12.7.38; NCCL user guide");
  } else if (flag ? (*number < 0 || *number > 1)
                  : (*number < known.takes.low || *number > known.takes.high)) {
    lint.say(Severity::kWarning, "out-of-range", set, fmt::format("is outside {}", range),
             fmt::format("Write {}.", range));
  }
}

void word_is_valid(Linter& lint, const NcclVariable& set, const Variable& known) {
  const auto allowed = words(known.takes.words);
  if (std::ranges::any_of(allowed, [&](std::string_view word) { return lower(word) == lower(set.value); }))
    return;
  const auto meant = closest(set.value, allowed);
  lint.say(Severity::kError, "unknown-word", set,
           meant ? fmt::format("is no value NCCL knows; did you mean {}?", *meant) : "is no value NCCL knows",
           fmt::format("Write one of {}.", known.takes.words));
}

// Replaces the remedy if GPUDirect RDMA is not possible: then no level is right, because NCCL always stages.
Fix level_fix(const Linter& lint, const NcclVariable& set, Fix fix) {
  if (set.name != "NCCL_NET_GDR_LEVEL" || gpudirect_remedy(lint.facts).possible) return fix;
  return {"Remove the line: GPUDirect RDMA is not possible on this node, whatever the level.", ""};
}

void level_is_valid(Linter& lint, const NcclVariable& set) {
  constexpr std::string_view kLevels[] = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                          "PXB", "P2C", "PXN", "PHB", "SYS"};
  constexpr std::string_view kByInteger[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
  if (among(kLevels, set.value)) return;
  const auto number = parse_number<std::size_t>(set.value);
  const auto word = kByInteger[std::min<std::size_t>(number.value_or(2), 4)];
  if (number)
    lint.say(
        Severity::kWarning, "level-integer", set,
        fmt::format("is an integer of the past, read as {}; the numbers have moved between versions", word),
        level_fix(lint, set, write(std::string(word))));
  else
    lint.say(Severity::kError, "unknown-word", set, "is no distance NCCL knows, so it is ignored",
             level_fix(lint, set, "Write LOC, PIX, PXB, PHB or SYS, in capitals."));
}

// ALGO and PROTO: [^]word,…; since 2.24 also function:[^]word,…;…, and an unknown word stops the start.
void choice_is_valid(Linter& lint, const NcclVariable& set) {
  static const std::vector<std::string_view> kAlgorithms = {
      "ring", "tree", "collnetchain", "collnetdirect", "nvls", "nvlstree", "pat", "collnet"};
  static const std::vector<std::string_view> kProtocols = {"ll", "ll128", "simple"};
  const auto& allowed = set.name == "NCCL_ALGO" ? kAlgorithms : kProtocols;
  for (std::string_view part : split(set.value, ';')) {
    if (const auto pair = key_value(part, ':')) part = pair->second;
    if (part.starts_with('^')) part.remove_prefix(1);
    for (const std::string_view word : split(part, ',')) {
      if (word.empty() || std::ranges::find(allowed, lower(word)) != allowed.end()) continue;
      const auto meant = closest(lower(word), allowed);
      lint.say(Severity::kError, "unknown-word", set,
               fmt::format("holds \"{}\", which NCCL does not know{}: since 2.24 it does not start", word,
                           meant ? fmt::format(" (did you mean {}?)", *meant) : ""),
               "Correct the word, or remove the line: NCCL chooses better by itself.");
      return;
    }
  }
  if (for_everybody(set))
    lint.say(Severity::kWarning, "forced-choice", set,
             "is forced for every job; NCCL can no longer choose by size",
             Fix("Remove the line; set it for single experiments.", ""));
}

std::string_view trim_quotes(std::string_view value) {
  const char quote = value.front();
  value.remove_prefix(1);
  return value.substr(0, value.find(quote));
}

void value_is_valid(Linter& lint, const NcclVariable& set, const Variable& known) {
  if (set.value.empty()) return;
  if ((set.value.front() == '"' || set.value.front() == '\'') && in_own_file(lint.facts.nccl, set)) {
    lint.say(Severity::kError, "quoted", set, "keeps its quotes: NCCL's own files know no quoting",
             Fix("Remove the quotes.", std::string(trim_quotes(set.value))), "NCCL src/misc/param.cc");
    return;
  }
  switch (known.takes.kind) {
    case Kind::kFlag:
    case Kind::kInteger:
      number_is_valid(lint, set, known);
      break;
    case Kind::kWord:
      word_is_valid(lint, set, known);
      break;
    case Kind::kLevel:
      level_is_valid(lint, set);
      break;
    case Kind::kNames:
    case Kind::kText:
      break;
  }
  if (set.name == "NCCL_ALGO" || set.name == "NCCL_PROTO") choice_is_valid(lint, set);
}

void set_once(Linter& lint) {
  std::map<std::string, const NcclVariable*> winners;
  std::set<std::string> told;
  for (const NcclVariable* const set : lint.settings.all()) {
    const auto [winner, first] = winners.try_emplace(set->name, set);
    if (first || winner->second->value == set->value || !told.insert(set->name).second) continue;
    lint.say(Severity::kWarning, "set-twice", *winner->second,
             fmt::format("is also set to \"{}\" in {}, which loses", set->value, set->from),
             "Keep one of the two.");
  }
}

}  // namespace

void lint_values(Linter& lint) {
  std::vector<const NcclVariable*> places = lint.settings.all();
  places.insert(places.end(), lint.settings.elsewhere().begin(), lint.settings.elsewhere().end());
  std::set<std::string> seen;
  for (const NcclVariable* const set : places) {
    if (!set->name.starts_with("NCCL_") && trim(set->name) == set->name && !set->name.starts_with("export "))
      continue;  // variables of UCX and CUDA
    if (!seen.insert(set->name + " " + set->from).second) continue;
    if (trim(set->name) != set->name || set->name.starts_with("export ")) {
      lint.say(
          Severity::kError, "not-a-shell", *set,
          "is not read: NCCL's own files are no shell scripts, and a space before \"=\" belongs to the name",
          "Write NAME=value from the first column, without spaces around \"=\".", "NCCL src/misc/param.cc");
      continue;
    }
    const Variable* const known = find_variable(set->name);
    if (known == nullptr) {
      name_is_known(lint, *set);
      continue;
    }
    version_has_it(lint, *set, *known);
    value_is_valid(lint, *set, *known);
  }
  set_once(lint);
}

}  // namespace railbed::nccl
