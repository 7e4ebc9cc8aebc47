// Remedies are pasted into a root shell, and the names in them come from nodes that may be anybody's. Every
// name that stands in a command of any machine's findings is replaced by one that a shell would carry out,
// wherever the evidence has it, and the rules judge again: whatever they print, the name stays one word of
// its command. A rule is covered by its machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/json.h"
#include "base/shell.h"
#include "base/testing/sample.h"
#include "cli/testing/machines.h"
#include "model/watched.h"
#include "verify/rule.h"

namespace railbed {
namespace {

using json::Value;

// Rules of which no machine's command has a name that a node can choose, and what the names in them are.
constexpr std::string_view kModules = "modules of railbed's own table";
constexpr std::string_view kUnit = "a unit that railbed knows";
constexpr std::string_view kPort = "ttyS and a number, or it is no port";
constexpr std::string_view kKeys = "settings of the kernel that railbed knows";
constexpr std::string_view kFile = "a file that railbed knows";
const std::map<std::string_view, std::string_view> kNoNodesNames = {
    {"gpu.fabric-manager-version", "a version, or the case is unknown"},
    {"host.clock", kUnit},
    {"host.disk-space", "the root folder; host.inodes has the same command for others"},
    {"host.serial-boot-menu", kPort},
    {"host.serial-login", kPort},
    {"host.serial-port", kPort},
    {"host.settings-at-boot", kKeys},
    {"host.socket-buffers", kKeys},
    {"ib.partition", kFile},
    {"ib.subnet-manager-at-boot", kUnit},
    {"measured.nothing", "hosts folded into a range"},
    {"nccl.traffic-class", "a variable that railbed knows, and a number of cluster.yaml"},
    {"pcie.iommu", "a parameter of the kernel that railbed knows"},
    {"rdma.adapter-modules", kModules},
    {"rdma.core-modules", kModules},
    {"rdma.infiniband-modules", kModules},
    {"rdma.ipoib-link", kFile},
    {"rdma.subnet-manager", kUnit},
    {"rdma.verbs-devices", kModules},
};

constexpr std::string_view kMark = "m4rk";
// Each ends a word, a command or a quote, begins a command or an option, or turns the line around.
const std::string kSuffix = ";m4rk $(m4rk)`m4rk`'m4rk\"m4rk|m4rk&m4rk>m4rk\nm4rk\x1b[m4rk\xe2\x80\xaem4rk";
const std::string kPrefix = "-m4rk";

// Machines have much in common. One may not do for a command: its finding may vanish with its name.
constexpr int kTries = 3;

Value value_of(const Evidence& evidence) {
  Value value = json::detail::new_object();
  value["cluster"] = json::encode(evidence.cluster);
  value["nodes"] = json::encode(evidence.nodes);
  value["measurements"] = json::encode(evidence.measurements);
  value["clocks"] = json::encode(evidence.clocks);
  value["after_reboot"] = json::encode(evidence.after_reboot);
  value["bmcs"] = json::encode(evidence.bmcs);
  std::map<std::string, Watched> watched;
  for (const auto& [node, seen] : evidence.watched) watched.emplace(node, *seen);
  value["watched"] = json::encode(watched);
  std::vector<std::string> unreachable;
  for (const Unreachable& lost : evidence.unreachable) unreachable.push_back(lost.node);
  value["unreachable"] = json::encode(unreachable);
  return value;
}

// Returns false if the type refuses the value: an address, a number or a word of a list is no name.
template <class T>
bool take(const Value& value, T& out) {
  auto decoded = json::decode<T>(value);
  if (decoded) out = std::move(*decoded);
  return decoded.has_value();
}
std::optional<Evidence> evidence_of(const Value& value, const Evidence& like) {
  Evidence evidence = like;
  const bool good = take(value["cluster"], evidence.cluster) && take(value["nodes"], evidence.nodes) &&
                    take(value["measurements"], evidence.measurements) &&
                    take(value["clocks"], evidence.clocks) &&
                    take(value["after_reboot"], evidence.after_reboot) && take(value["bmcs"], evidence.bmcs);
  std::map<std::string, Watched> watched;
  if (!take(value["watched"], watched)) return std::nullopt;
  evidence.watched.clear();
  for (auto& [node, seen] : watched)
    evidence.watched.emplace(node, std::make_shared<const Watched>(std::move(seen)));
  std::vector<std::string> unreachable;
  if (!good || !take(value["unreachable"], unreachable)) return std::nullopt;
  for (std::size_t i = 0; i < unreachable.size(); ++i) evidence.unreachable[i].node = unreachable[i];
  evidence.cluster.file = like.cluster.file;
  return evidence;
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_of_word(text[at - 1])) && (end == text.size() || !is_of_word(text[end]))) return at;
  }
  return text.npos;
}

std::string replaced(std::string text, const std::string& name, const std::string& by) {
  for (std::size_t at = find_word(text, name); at != text.npos; at = find_word(text, name, at + by.size()))
    text.replace(at, name.size(), by);
  return text;
}

void add_texts(const Value& value, std::set<std::string>& texts) {
  if (value.is_string()) texts.insert(value.get<std::string>());
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) texts.insert(key);
    if (value.is_structured()) add_texts(member, texts);
  }
}

// True for a member of a struct, which is no name: a name among the keys of a map has a digit or a dot.
bool is_member(std::string_view key) {
  return key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

using Replacements = std::map<std::string, std::string>;  // name → what stands for it

std::string replaced(std::string text, const Replacements& names) {
  for (const auto& [name, by] : names)
    if (find_word(text, name) != text.npos) text = replaced(std::move(text), name, by);
  return text;
}

Value with_names(const Value& value, const Replacements& names) {
  if (value.is_string()) return replaced(value.get<std::string>(), names);
  if (value.is_array()) {
    Value changed = json::detail::new_array();
    for (const auto& one : value) json::detail::append(changed, with_names(one, names));
    return changed;
  }
  if (!value.is_object()) return value;
  Value changed = json::detail::new_object();
  for (const auto& [key, member] : value.items())
    json::detail::append_member(changed, is_member(key) ? key : replaced(key, names),
                                with_names(member, names));
  return changed;
}

// The words of a shell's line with quotes resolved, and the text that is in none of its single quotes.
struct ShellLineParts {
  std::vector<std::string> words;
  std::string bare;
  bool whole = true;  // each quote has its end
};
ShellLineParts parse_shell_line(std::string_view line) {
  ShellLineParts parsed;
  std::string word;
  bool any = false;
  const auto end_word = [&] {
    if (any) parsed.words.push_back(word);
    word.clear();
    any = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      const std::size_t end = line.find('\'', i + 1);
      if (end == line.npos) return parsed.whole = false, parsed;
      word += line.substr(i + 1, end - i - 1);
      any = true;
      i = end;
      continue;
    }
    parsed.bare += line[i];
    if (line[i] == '\\' && i + 1 < line.size()) {
      word += line[++i];
      any = true;
    } else if (std::string_view(" |;&<>()").find(line[i]) != std::string_view::npos) {
      end_word();
    } else {
      word += line[i];
      any = true;
    }
  }
  end_word();
  return parsed;
}

// Returns why a shell would read more than a name in the line; empty if it would not.
std::string fault_in(const std::string& line) {
  if (std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }))
    return "has a control character";
  const ShellLineParts parsed = parse_shell_line(line);
  if (!parsed.whole) return "has a quote without end";
  if (!line.starts_with("# ") && parsed.bare.find(kMark) != std::string::npos &&
      parsed.bare.find(kPrefix) == std::string::npos)
    return "has a name outside of quotes";
  for (std::size_t i = 0; i < parsed.words.size(); ++i) {
    const std::string& word = parsed.words[i];
    if (word.starts_with(kPrefix) && !line.starts_with("# ") &&
        std::find(parsed.words.begin(), parsed.words.begin() + static_cast<std::ptrdiff_t>(i), "--") ==
            parsed.words.begin() + static_cast<std::ptrdiff_t>(i))
      return "has a name that is an option";
    if (i > 1 && parsed.words[i - 1] == "-c" && parsed.words[i - 2].ends_with("sh"))
      if (const std::string inner = fault_in(word); !inner.empty()) return "within sh -c " + inner;
  }
  return {};
}

struct Walk {
  std::map<std::string, int> named;      // rule → its commands that have names
  std::map<std::string, int> exercised;  // rule → its commands that had a hostile one
  std::map<std::string, int> tried;      // a rule's command without one of its names → how often
  std::set<std::string> lines;
  std::set<std::string> faults;
};

std::map<std::string, int> look_at(const Verdict& verdict, const std::string& where, Walk& walk) {
  std::map<std::string, int> found;
  for (const Finding& finding : verdict.findings) {
    const std::string rule(finding.rule);
    for (const std::string* text :
         {&finding.message, &finding.expected, &finding.observed, &finding.remedy.text})
      if (std::ranges::any_of(*text, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        walk.faults.insert(fmt::format("{}: {}: a control character in \"{}\"", where, rule, *text));
    for (const ShellCommand& command : finding.remedy.commands) {
      if (command.text().find(kMark) == std::string::npos) continue;
      ++walk.exercised[rule];
      ++found[rule];
      walk.lines.insert(command.text());
      if (const std::string fault = fault_in(command); !fault.empty())
        walk.faults.insert(fmt::format("{}: {} {}: {}", where, rule, fault, command.text()));
    }
  }
  return found;
}

// Judges again with these names made hostile, and returns how many commands of each rule then had one.
std::map<std::string, int> judge_with(const Machine& machine, const Value& value,
                                      const std::set<std::string>& names, bool as_option,
                                      const std::string& where, Walk& walk) {
  Replacements replacements;
  for (const std::string& name : names) replacements[name] = as_option ? kPrefix + name : name + kSuffix;
  const auto evidence = evidence_of(with_names(value, replacements), machine.evidence);
  return evidence ? look_at(verify(*evidence, Keep::kUnsound), where, walk) : std::map<std::string, int>();
}

void walk_machine(const std::filesystem::path& folder, Walk& walk) {
  const std::string where = folder.filename().string();
  const Machine& machine = machine_of(where);
  const Value value = value_of(machine.evidence);
  std::set<std::string> texts;
  add_texts(value, texts);
  std::map<std::string, std::set<std::string>> of;  // rule → names in them
  std::set<std::string> all;
  for (const Finding& finding : machine.verdict.findings)
    for (const ShellCommand& command : finding.remedy.commands) {
      if (!command.has_names()) continue;
      const std::string rule(finding.rule);
      ++walk.named[rule];
      for (const std::string& text : texts)
        if (text.size() > 1 && find_word(command.text(), text) != std::string::npos &&
            ++walk.tried[fmt::format("{} {}", rule, replaced(command.text(), text, "\n"))] <= kTries) {
          of[rule].insert(text);
          all.insert(text);
        }
    }
  // All names at once; one by one those of rules whose findings vanish by that.
  for (const bool as_option : {false, true}) {
    std::map<std::string, int> found = judge_with(machine, value, all, as_option, where, walk);
    std::set<std::string> left;
    for (const auto& [rule, names] : of)
      if (found[rule] == 0 && !kNoNodesNames.contains(rule)) left.insert(names.begin(), names.end());
    for (const std::string& name : left)
      judge_with(machine, value, {name}, as_option, where + ", " + name, walk);
  }
}

// A setting's steps take names of units, modules and interfaces only (check_step()), and its files are
// written by the renderers, whose own tests have hostile names: another name brings other commands.
bool is_of_settings(std::string_view rule) {
  const Rule* found = find_rule(rule);
  return found != nullptr && !found->settings.empty();
}

TEST(HostileNames, StayOneWordOfEveryCommand) {
  Walk walk;
  for (const auto& folder : sampled(machine_folders())) walk_machine(folder, walk);
  for (const std::string& fault : walk.faults) ADD_FAILURE() << fault;
  // A shell's own grammar has the last word.
  const auto script = std::filesystem::path(testing::TempDir()) / "hostile_names.sh";
  std::ofstream file(script);
  for (const std::string& line : walk.lines) file << line << "\n";
  file.close();
  EXPECT_EQ(std::system(fmt::format("sh -n {}", shell_word(script.string())).c_str()), 0) << script;

  if (kSampleStride > 1) return;  // which rules have names in commands, only all machines show
  for (const auto& [rule, count] : walk.named)
    EXPECT_TRUE(walk.exercised.contains(rule) || kNoNodesNames.contains(rule) || is_of_settings(rule))
        << rule << " puts names into " << count
        << " commands of the machines, and none was ever a hostile one";
  for (const auto& [rule, reason] : kNoNodesNames)
    EXPECT_FALSE(walk.exercised.contains(std::string(rule))) << rule << " has names: " << reason;
  EXPECT_GE(walk.exercised.size(), 60U);
  RecordProperty("commands", static_cast<int>(walk.lines.size()));
}

}  // namespace
}  // namespace railbed
