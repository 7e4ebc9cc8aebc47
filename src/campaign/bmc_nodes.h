// What is done with the BMCs of many nodes at once. A dead one costs its own answer; who has none, or no
// login, is named.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "bmc/bmc.h"
#include "campaign/caller.h"
#include "campaign/plan_nodes.h"
#include "facts/bmc.h"
#include "inventory/cluster.h"

namespace railbed {

struct BmcReach {
  BmcLogins logins = {};
  BmcCertificates certificates = {};
  BmcOptions options = {};
  std::size_t parallelism = 64;
};

// The power is the first question, and the last one of a BMC that does not answer it. Without it, only
// sensors or events may be asked: a session less.
struct BmcQuestions {
  bool power = true;
  bool device = false;
  bool sensors = false;
  bool events = false;
  bool clock = false;
  bool serial = false;
  bool default_login = false;  // one attempt with what this maker's BMCs leave the factory with
};
inline constexpr BmcQuestions kAllBmcQuestions = {true, true, true, true, true, true, true};

// Of the named nodes, in the order of the file.
std::vector<BmcFacts> look_at_bmcs(const Cluster& cluster, const Names& names, const BmcQuestions& questions,
                                   const BmcReach& reach, const Caller& caller);

struct BmcChange {
  std::string node = {};
  std::string error = {};  // empty: it is done
  FIELDS(BmcChange, node, error);
};

// `doing` is what the caller hears: "power off".
std::vector<BmcChange> change_bmcs(const Cluster& cluster, const Names& names, std::string_view doing,
                                   const std::function<Result<void>(Bmc&)>& change, const BmcReach& reach,
                                   const Caller& caller);

// Asks each second until all of them are in that state, or `patience` is over; answers those that are not.
std::vector<BmcFacts> wait_for_power(const Cluster& cluster, const Names& names, PowerState wanted,
                                     std::chrono::seconds patience, const BmcReach& reach,
                                     const Caller& caller);

// What a node that is watched asks its own BMC each minute: nothing that logs in more than once.
inline constexpr BmcQuestions kWatchedBmcQuestions = {.power = true, .sensors = true, .events = true};
// This machine's own BMC through the kernel, as of this node.
BmcFacts look_at_own_bmc(const std::string& node, const BmcQuestions& questions, const BmcOptions& options);

// The certificate that each of them shows, without a login.
std::vector<ShownCertificate> show_certificates(const Cluster& cluster, const Names& names,
                                                const BmcReach& reach, const Caller& caller);

// One BMC of a node, ready to be asked.
Result<BmcTarget> target_of(const Cluster& cluster, const Node& node, const BmcReach& reach);

}  // namespace railbed
