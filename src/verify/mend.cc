#include "verify/mend.h"

#include <algorithm>

#include "settings/remedy.h"

namespace railbed {
namespace {

// Returns true if a setting with these subjects concerns the finding; a setting without subjects concerns the
// whole node.
bool is_about(const std::vector<std::string>& subjects, const Finding& finding) {
  return subjects.empty() || std::ranges::any_of(subjects, [&](const std::string& subject) {
           return finding.subject == subject ||
                  std::ranges::find(finding.touches, "netdev:" + subject) != finding.touches.end();
         });
}

// Returns the section of a setting's name: "sysctl" of "sysctl/socket-buffers"; nullopt if there is none.
std::optional<Section> section_of(std::string_view setting) {
  constexpr auto kNames = enum_names(Section());
  const auto found = std::ranges::find(kNames, setting.substr(0, setting.find('/')));
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Section>(found - kNames.begin());
}

}  // namespace

bool mends(std::string_view setting, const std::vector<std::string>& subjects, const std::vector<Need>& needs,
           const Rule& rule, const Finding& finding) {
  const auto is_open = [&](const Need& need) {
    return (rule.of_next_boot ? need.at_boot : need.now) != true;
  };
  return std::ranges::find(rule.settings, setting) != rule.settings.end() && is_about(subjects, finding) &&
         (needs.empty() || std::ranges::any_of(needs, is_open));
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
  // If the system is unknown, settings are rendered without a platform. They do not depend on it then, or
  // have no steps.
  auto found = target_of(*wide_, *view);
  const Target target = found ? *std::move(found) : Target{*wide_, *view, {}};
  std::vector<ShellCommand> commands;
  for (const std::string_view name : rule.settings) {
    const auto section = section_of(name);
    if (!section) continue;
    for (const Setting& setting : settings_of(target, *section)) {
      if (setting.name != name || !mends(name, setting.subjects, setting.needs, rule, finding)) continue;
      for (ShellCommand& one : commands_by_hand(setting, target.platform)) commands.push_back(std::move(one));
      for (const std::string& note : setting.notes) finding.remedy.text += " " + note;
      finding.remedy.needs_reboot = finding.remedy.needs_reboot || setting.reboot;
    }
  }
  if (commands.empty()) return;
  finding.remedy.commands = std::move(commands);
  finding.remedy.of_one_node = true;
}

}  // namespace railbed
