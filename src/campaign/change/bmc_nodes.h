// Operations on the BMCs of many nodes in parallel. A BMC that does not respond fails alone. A node without a
// BMC address or without a login gets an error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "bmc/bmc.h"
#include "campaign/caller.h"
#include "campaign/change/plan_nodes.h"
#include "facts/bmc.h"
#include "inventory/cluster.h"

namespace railbed {

struct BmcReach {
  BmcLogins logins = {};
  BmcCertificates certificates = {};
  BmcOptions options = {};
  std::size_t parallelism = 64;
};

// The data to read from a BMC. The power state is read first; if that fails, nothing else is read. Without
// `power`, only sensors or events may be requested, which saves one session.
struct BmcQuestions {
  bool power = true;
  bool device = false;
  bool sensors = false;
  bool events = false;
  bool clock = false;
  bool serial = false;
  bool log = false;  // the event log's room
  bool lan = false;
  bool default_login = false;  // one login attempt with the factory password of this maker
};
inline constexpr BmcQuestions kAllBmcQuestions = {true, true, true, true, true, true, true, true, true};

// Reads the BMCs of the named nodes, in the order of cluster.yaml. After a stop, the remaining ones have an
// error.
std::vector<BmcFacts> look_at_bmcs(const Cluster& cluster, const Names& names, const BmcQuestions& questions,
                                   const BmcReach& reach, const Caller& caller);

struct BmcChange {
  std::string node = {};
  std::string error = {};  // empty if the change was made
  FIELDS(BmcChange, node, error);
};

// Calls `change` with a session to each BMC, up to `reach.parallelism` at once. `doing` labels the progress
// messages: "power off".
std::vector<BmcChange> change_bmcs(const Cluster& cluster, const Names& names, std::string_view doing,
                                   const std::function<Result<void>(Bmc&)>& change, const BmcReach& reach,
                                   const Caller& caller);

// Polls each second until all BMCs report the power state `wanted`, `patience` is over, or the caller stops
// it. Returns the BMCs that are not in that state.
std::vector<BmcFacts> wait_for_power(const Cluster& cluster, const Names& names, PowerState wanted,
                                     std::chrono::seconds patience, const BmcReach& reach,
                                     const Caller& caller);

// The data that a monitored node reads from its own BMC each minute. None of it needs more than one login.
inline constexpr BmcQuestions kWatchedBmcQuestions = {
    .power = true, .device = true, .sensors = true, .events = true, .log = true};
// Reads this machine's own BMC through the kernel (/dev/ipmi0). The result carries the name `node`.
BmcFacts look_at_own_bmc(const std::string& node, const BmcQuestions& questions, const BmcOptions& options);

// Reads the certificate that each BMC presents, without a login, and compares it with the trusted one if
// there is one.
std::vector<ShownCertificate> show_certificates(const Cluster& cluster, const Names& names,
                                                const BmcReach& reach, const Caller& caller);

// Returns the address, login and certificate of the node's BMC. Fails if cluster.yaml has no address or the
// password file no login.
Result<BmcTarget> target_of(const Cluster& cluster, const Node& node, const BmcReach& reach);

}  // namespace railbed
