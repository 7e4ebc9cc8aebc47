// The options of every command that reaches BMCs, and the sources of passwords.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "campaign/change/bmc_nodes.h"
#include "cli/command.h"
#include "inventory/cluster.h"

namespace CLI {
class App;
}

namespace railbed {

inline constexpr Document<std::vector<BmcFacts>> kBmcDocument{"railbed-bmc", 1, "nodes"};
inline constexpr Document<std::vector<BmcChange>> kBmcChangesDocument{"railbed-bmc-changes", 1, "nodes"};

// The options as typed.
struct BmcCommand {
  std::string cluster = {};
  std::vector<std::string> nodes = {};
  std::string user = {};
  std::string password_file = {};
  int silence_seconds = 3;
  std::size_t parallelism = 64;
  bool json = false;
};

// Adds cluster.yaml, NODE…, --user, --password-file, --timeout, --parallel and --json.
void add_bmc_options(CLI::App& app, BmcCommand& command);

// The BMCs that a command reaches, and how.
struct BmcPlaces {
  Cluster cluster;
  Names names;  // the named nodes, or all that have a BMC
  BmcReach reach;
};
// Loads the cluster and the logins. The password comes from the first of these: --password-file;
// $RAILBED_BMC_PASSWORD, which is removed from the environment; cluster.yaml's password_file; the person at
// the terminal.
Result<BmcPlaces> open_places(const BmcCommand& command);
// Loads the same without logins.
Result<BmcPlaces> open_places_unknown(const BmcCommand& command);

// Reads everything that the BMCs show, by node: for `verify --bmc` and `prove --bmc`.
std::map<std::string, BmcFacts> look_at_all(const BmcPlaces& places);

// Returns 0 if every BMC made the change, else 3.
int exit_code_of(const std::vector<BmcChange>& changes);

// Returns "gpu[01-60]  on": a line for each result with the nodes that share it, in the order of the first of
// them.
std::string answers_text(const std::vector<std::pair<std::string, std::string>>& answers);

// Prints the changes, as text or JSON, and returns the exit code.
int print_changes(const std::vector<BmcChange>& changes, std::string_view done, bool json);

// Adds subcommands of `railbed bmc`, which set *chosen to their action.
void add_redfish_commands(CLI::App& app, const std::shared_ptr<Action>& chosen);

// True if a command may change these nodes: always one, more if the person agrees or with `yes`.
bool may_touch(const Names& names, std::string_view what, bool yes);

}  // namespace railbed
