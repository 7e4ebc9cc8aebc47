// Compares the host keys that nodes offer with those in this user's known_hosts and with those from a trusted
// source, for a person to check and then to add to known_hosts. A key that came over the network alone proves
// nothing, so none is added without a check, and none is ever replaced.
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
#include "campaign/change/plan_nodes.h"
#include "campaign/reach.h"
#include "fleet/ssh_words.h"
#include "inventory/cluster.h"

namespace railbed {

enum class HostKeyState {
  kKnown,
  kNew,      // known_hosts has no key of this node
  kFurther,  // ssh knows the node by a key of another type and does not need this one
  kChanged,  // ssh knows another key of this type, or only keys that the node does not offer
  kRevoked   // a line of known_hosts marks the key as @revoked
};
constexpr auto enum_names(HostKeyState) {
  return std::array<std::string_view, 5>{"known", "new", "further", "changed", "revoked"};
}

struct OfferedKey {
  PublicKey key = {};
  std::string fingerprint = {};
  HostKeyState state = HostKeyState::kNew;
  std::string instead_of = {};        // for kChanged: the known fingerprint
  std::optional<bool> expected = {};  // whether the key is as expected; none: no expectation covers it
  bool added = false;
  FIELDS(OfferedKey, key, fingerprint, state, instead_of, expected, added);
};

struct NodeHostKeys {
  std::string node = {};
  std::string error = {};               // why the keys could not be read; empty if they were
  std::string note = {};                // additional information for the user
  std::string name = {};                // the node's name in known_hosts
  std::vector<std::string> files = {};  // known_hosts files; new keys go into the first
  bool hashed = false;                  // known_hosts has hashed names
  std::vector<OfferedKey> keys = {};
  FIELDS(NodeHostKeys, node, error, note, name, files, hashed, keys);
  // True if a key differs from the known or the expected one, or is revoked.
  bool is_suspect() const;
  // True if ssh would prompt for this node: it has keys, and none is known or was added.
  bool is_new() const;
};

struct ClusterHostKeys {
  std::string cluster = {};
  std::vector<NodeHostKeys> nodes = {};  // in the order of cluster.yaml
  FIELDS(ClusterHostKeys, cluster, nodes);
  bool is_suspect() const;
  // Returns 0 if all nodes are known, 1 if some are new, 2 if a key is suspect, 3 if a node's keys could not
  // be read.
  int exit_code() const;
};

// A key from a trusted source. Its type is empty if only the fingerprint is given.
struct ExpectedKey {
  std::string fingerprint;
  std::string type;
  bool operator==(const ExpectedKey&) const = default;
};
using ExpectedKeys = std::map<std::string, std::vector<ExpectedKey>, std::less<>>;  // by node
// Parses lines of the form "NODE SHA256:…" or "NODE ssh-ed25519 AAAA…". `file` appears in error messages.
// Fails on nodes that the cluster does not have.
Result<ExpectedKeys> parse_expected_keys(std::string_view text, std::string_view file,
                                         const Cluster& cluster);

// Classifies the offered keys by their type and bytes, the entries of known_hosts, and the keys that are
// expected of the node (null: no comparison).
std::vector<OfferedKey> judge_keys(const std::vector<PublicKey>& offered,
                                   const std::vector<fleet::FoundKey>& known,
                                   const std::vector<ExpectedKey>* expected);

// Reads the host keys of these nodes in parallel. `expected` is null if nothing is compared.
ClusterHostKeys look_at_host_keys(const Cluster& cluster, const Names& names, const ExpectedKeys* expected,
                                  const ReachOptions& reach, const Caller& caller);

// Returns the number of new keys that may be added; with `as_expected`, of those that are expected.
std::size_t count_to_add(const ClusterHostKeys& look, bool as_expected);
// Adds these keys to each node's known_hosts and sets their `added`. Each file is written completely or not
// at all. Fails, and writes nothing, if a key is suspect.
Result<void> add_host_keys(ClusterHostKeys& look, bool as_expected);

}  // namespace railbed
