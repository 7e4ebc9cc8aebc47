#include "verify/mend.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/tools.h"
#include "settings/remedy.h"

namespace railbed {
namespace {

// Returns true if a setting with these subjects concerns the finding; a setting without subjects concerns the
// whole node.
bool is_about(const std::vector<std::string>& subjects, const Finding& finding) {
  return subjects.empty() || std::ranges::any_of(subjects, [&](const std::string& subject) {
           return finding.subject == subject ||
                  std::ranges::find(finding.touches, subject) != finding.touches.end() ||
                  std::ranges::find(finding.touches, "netdev:" + subject) != finding.touches.end();
         });
}

// Returns true if the settings of a section are the same on every system. Others (which package tool, which files of
// OpenSM) are rendered as for Debian if the system is unknown, and must not be shown then.
bool is_of_any_system(Section section) {
  return section == Section::kSysctl || section == Section::kLimits || section == Section::kModules ||
         section == Section::kGovernor || section == Section::kServices || section == Section::kNccl;
}

// Returns true if one of the steps acts on a unit.
bool needs_systemd(const Setting* setting) {
  const auto of_unit = [](const NodeStep& step) {
    return step.kind == StepKind::kReloadUnits || step.kind == StepKind::kEnableUnit ||
           step.kind == StepKind::kRestartUnit || step.kind == StepKind::kDisableUnit;
  };
  return std::ranges::any_of(setting->steps, of_unit);
}

// A note may quote what a user's file holds, so the text has a limit.
void add_sentence(std::string_view sentence, std::string& text) {
  constexpr std::size_t kMostText = 1500;
  if (sentence.empty() || text.size() + sentence.size() > kMostText) return;
  text += ' ';
  text += sentence;
  if (!sentence.ends_with('.')) text += '.';
}

}  // namespace

std::optional<Section> section_of(std::string_view setting) {
  constexpr auto kNames = enum_names(Section());
  const auto found = std::ranges::find(kNames, setting.substr(0, setting.find('/')));
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Section>(found - kNames.begin());
}

bool mends(std::string_view setting, const std::vector<std::string>& subjects, const std::vector<Need>& needs,
           const Rule& rule, const Finding& finding) {
  const auto is_open = [&](const Need& need) {
    return (rule.of_next_boot ? need.at_boot : need.now) != true;
  };
  return !finding.remedy.by_hand_only && std::ranges::find(rule.settings, setting) != rule.settings.end() &&
         is_about(subjects, finding) && (needs.empty() || std::ranges::any_of(needs, is_open));
}

const std::vector<Setting>& Mender::settings_of(const Target& target, Section section) {
  const auto [place, is_new] = rendered_.try_emplace({*target.view.name, section});
  if (is_new) place->second = render_settings(target, {section});
  return place->second;
}

void Mender::mend(const Rule& rule, Finding& finding) {
  if (finding.remedy.text.empty()) finding.remedy.text = rule.remedy;
  const NodeView* view = survey_.find(finding.node);
  if (view == nullptr) return;
  if (!wide_) wide_.emplace(survey_);
  auto found = target_of(*wide_, *view);
  const bool known = static_cast<bool>(found);
  const Target target = known ? *std::move(found) : Target{*wide_, *view, {}};
  std::vector<const Setting*> mending;
  for (const std::string_view name : rule.settings) {
    const auto section = section_of(name);
    if (!section || (!known && !is_of_any_system(*section))) continue;
    for (const Setting& setting : settings_of(target, *section))
      if (setting.name == name && mends(name, setting.subjects, setting.needs, rule, finding))
        mending.push_back(&setting);
  }
  // A part of what mends it is worse than the rule's own commands, which work without systemd.
  if (!has_systemd(*view) && std::ranges::any_of(mending, needs_systemd)) return;
  std::vector<ShellCommand> commands;
  for (const Setting* const setting : mending) {
    if (!setting->refused.empty()) {
      add_sentence(setting->refused, finding.remedy.text);
      continue;
    }
    auto by_hand = commands_by_hand(*setting, target.platform);
    if (by_hand.empty()) continue;
    commands.insert(commands.end(), std::make_move_iterator(by_hand.begin()),
                    std::make_move_iterator(by_hand.end()));
    finding.remedy.needs_reboot = finding.remedy.needs_reboot || setting->reboot;
    for (const Contradiction& contradiction : setting->contradictions)
      add_sentence(fmt::format("{} goes aside as a whole: {}", contradiction.path, contradiction.why),
                   finding.remedy.text);
    for (const std::string& note : setting->notes) add_sentence(note, finding.remedy.text);
    add_sentence(warning_of(setting->risk), finding.remedy.text);
  }
  if (commands.empty()) return;
  finding.remedy.commands = std::move(commands);
  finding.remedy.of_one_node = true;
}

}  // namespace railbed
