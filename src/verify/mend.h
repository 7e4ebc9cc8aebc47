// The remedies of findings that a setting mends. A rule names its settings and says nothing more: what a
// person types is rendered from them, for this node (settings/remedy.h).
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/render.h"
#include "verify/rule.h"

namespace railbed {

// Returns whether a setting mends a red finding of the rule: the rule names it; it is about the finding's
// subject, or what that touches ("netdev:ens6"), or about the whole node; and something that it needs is not
// so now, or for a rule about the next boot, then. A setting that is already met cannot be what is missing.
// Without needs nobody could look: then what the rule names may be it.
bool mends(std::string_view setting, const std::vector<std::string>& subjects, const std::vector<Need>& needs,
           const Rule& rule, const Finding& finding);

class Mender {
 public:
  // Keeps a reference to the survey.
  explicit Mender(const Survey& survey) : survey_(survey) {}
  // Gives a red finding the commands of its rule's settings instead of those that it has, as far as a setting
  // of this node mends it. Its text stays; one that has none gets the rule's general remedy.
  void mend(const Rule& rule, Finding& finding);

 private:
  const std::vector<Setting>& settings_of(const Target& target, Section section);
  const Survey& survey_;
  std::optional<ClusterWide> wide_ = {};  // made when the first finding needs it
  std::map<std::pair<std::string_view, Section>, std::vector<Setting>> rendered_ = {};
};

}  // namespace railbed
