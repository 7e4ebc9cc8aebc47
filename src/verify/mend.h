// Remedies of findings that a setting fixes. A rule only names its settings; the commands for a person are
// rendered from them for the node in question (settings/remedy.h).
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/render.h"
#include "verify/rule.h"

namespace railbed {

// Returns true if the setting fixes a red finding of the rule. All of these must hold:
//   - the rule names the setting;
//   - the setting concerns the finding's subject, or an interface that the finding touches ("netdev:ens6"),
//     or the whole node (no subjects);
//   - one of its needs is not met now or, for a rule about the next boot, not met then. A setting that is met
//     cannot be the cause. A setting without needs could not be checked, so it may be the cause.
bool mends(std::string_view setting, const std::vector<std::string>& subjects, const std::vector<Need>& needs,
           const Rule& rule, const Finding& finding);

// Returns the section of a setting's name: "sysctl" of "sysctl/socket-buffers"; nullopt if there is none.
std::optional<Section> section_of(std::string_view setting);

// Fills in the remedies of red findings, and caches the rendered settings of each node.
class Mender {
 public:
  // Keeps a reference to the survey, which must outlive the mender.
  explicit Mender(const Survey& survey) : survey_(survey) {}
  // Replaces the commands of a red finding's remedy by those of the rule's settings that fix it on this node.
  // Leaves the commands as they are if no setting does. Keeps the remedy's text; an empty text becomes the
  // rule's general remedy.
  void mend(const Rule& rule, Finding& finding);

 private:
  const std::vector<Setting>& settings_of(const Target& target, Section section);
  const Survey& survey_;
  std::optional<ClusterWide> wide_ = {};  // made when the first finding needs it
  std::map<std::pair<std::string_view, Section>, std::vector<Setting>> rendered_ = {};
};

}  // namespace railbed
