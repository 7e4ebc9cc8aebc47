// railbed's tables of rules and of NVIDIA's error numbers: whole, or one entry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "hardware/xid.h"
#include "verify/rule.h"

namespace railbed {

struct RuleDocument {
  std::string_view id, title, why, source, standard, remedy, fixture;
  std::vector<std::string_view> explained_by;
  FIELDS(RuleDocument, id, title, why, source, standard, remedy, fixture, explained_by);
};
inline constexpr Document<std::vector<RuleDocument>> kRulesDocument{"railbed-rules", 1, "rules"};

// An Xid; codes first…last have one meaning.
struct XidDocument {
  int first = 0;
  int last = 0;
  XidAction action = XidAction::kInformation;
  std::string_view meaning, remedy, source;
  std::string rule;  // empty: none
  FIELDS(XidDocument, first, last, action, meaning, remedy, source, rule);
};
inline constexpr Document<std::vector<XidDocument>> kXidsDocument{"railbed-xids", 1, "xids"};

struct SxidDocument {
  int code = 0;
  std::string_view unit;
  bool always_fatal = false;
  std::string_view remedy, source;
  std::string_view rule = "gpu.sxid";
  FIELDS(SxidDocument, code, unit, always_fatal, remedy, source, rule);
};
inline constexpr Document<SxidDocument> kSxidDocument{"railbed-sxid"};

bool is_rule(std::string_view word);
// All three print, as JSON on request, and return the exit code. An entry that no table has is an error.
int explain_rule(const std::string& id, bool json);
int unknown_rule(const std::string& id);
// "xid 79", "sxid 12028", or "xid": the whole table.
int explain_number(const std::vector<std::string>& words, bool json);

}  // namespace railbed
