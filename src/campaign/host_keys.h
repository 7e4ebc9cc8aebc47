// The host keys that nodes offer, beside those that this user's ssh knows and those that somebody trusted
// said: for a person to compare, and then into known_hosts. A key that came over the network alone proves
// nothing, so none is added unseen, and none is ever replaced.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/plan_nodes.h"
#include "campaign/reach.h"
#include "fleet/ssh_words.h"
#include "inventory/cluster.h"

namespace railbed {

enum class HostKeyState {
  kKnown,
  kNew,      // ssh knows no key of this node
  kFurther,  // it knows the node by another kind of key, and does not need this one
  kChanged,  // it knows another key of this kind, or only keys that are not offered
  kRevoked   // a line of known_hosts says that it must not be accepted
};
constexpr auto enum_names(HostKeyState) {
  return std::array<std::string_view, 5>{"known", "new", "further", "changed", "revoked"};
}

struct OfferedKey {
  PublicKey key = {};
  std::string fingerprint = {};
  HostKeyState state = HostKeyState::kNew;
  std::string instead_of = {};        // of kChanged: the fingerprint that is known
  std::optional<bool> expected = {};  // whether it is as expected; none: nothing was said of such a key
  bool added = false;
  FIELDS(OfferedKey, key, fingerprint, state, instead_of, expected, added);
};

struct NodeHostKeys {
  std::string node = {};
  std::string error = {};               // why it could not be asked; empty: it was
  std::string note = {};                // what a person should know besides
  std::string name = {};                // in known_hosts
  std::vector<std::string> files = {};  // of known_hosts; new keys go into the first
  bool hashed = false;                  // names are hashed there
  std::vector<OfferedKey> keys = {};
  FIELDS(NodeHostKeys, node, error, note, name, files, hashed, keys);
  // Another key than the known or the expected one, or a revoked one.
  bool is_suspect() const;
  // ssh would ask about it.
  bool is_new() const;
};

struct ClusterHostKeys {
  std::string cluster = {};
  std::vector<NodeHostKeys> nodes = {};  // in the order of the file
  FIELDS(ClusterHostKeys, cluster, nodes);
  bool is_suspect() const;
  // 0 all are known, 1 new ones, 2 one that is not what it should be, 3 a node could not be asked.
  int exit_code() const;
};

// A key that somebody trusted named. Its kind is empty where only the fingerprint was said.
struct ExpectedKey {
  std::string fingerprint;
  std::string type;
  bool operator==(const ExpectedKey&) const = default;
};
using ExpectedKeys = std::map<std::string, std::vector<ExpectedKey>, std::less<>>;  // by node
// Lines "NODE SHA256:…" or "NODE ssh-ed25519 AAAA…"; `file` stands in complaints.
Result<ExpectedKeys> parse_expected_keys(std::string_view text, std::string_view file,
                                         const Cluster& cluster);

// Fills in what the keys are, from their kind and bytes, what known_hosts holds, and what is expected of the
// node (null: nothing was asked for).
std::vector<OfferedKey> judge_keys(const std::vector<PublicKey>& offered,
                                   const std::vector<fleet::FoundKey>& known,
                                   const std::vector<ExpectedKey>* expected);

// Asks all these nodes at once. `expected`: null where nothing is compared.
ClusterHostKeys look_at_host_keys(const Cluster& cluster, const Names& names, const ExpectedKeys* expected,
                                  const ReachOptions& reach, const Caller& caller);

// The new keys that may be added: with `as_expected` only those that are.
std::size_t count_to_add(const ClusterHostKeys& look, bool as_expected);
// Puts them into each node's known_hosts, a file whole or not at all. An error where a key is suspect: then
// nothing is written.
Result<void> add_host_keys(ClusterHostKeys& look, bool as_expected);

}  // namespace railbed
