// The options of every command that speaks with BMCs, and where passwords come from.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/bmc_nodes.h"
#include "cli/command.h"
#include "inventory/cluster.h"

namespace CLI {
class App;
}

namespace railbed {

struct BmcCommand {
  std::string cluster = {};
  std::vector<std::string> nodes = {};
  std::string user = {};
  std::string password_file = {};
  int silence_seconds = 3;
  std::size_t parallelism = 64;
  bool json = false;
};

// cluster.yaml, NODE…, --user, --password-file, --timeout, --parallel and --json.
void add_bmc_options(CLI::App& app, BmcCommand& command);

struct BmcPlaces {
  Cluster cluster;
  Names names;  // those that were named, or all that have a BMC
  BmcReach reach;
};
// The password comes from --password-file, from $RAILBED_BMC_PASSWORD, which is then forgotten, from
// cluster.yaml's password_file, or from the person at the terminal; the first that says one counts.
Result<BmcPlaces> open_places(const BmcCommand& command);
// Without any login.
Result<BmcPlaces> open_places_unknown(const BmcCommand& command);

// What all of them show, by node: for `verify --bmc` and `prove --bmc`.
std::map<std::string, BmcFacts> look_at_all(const BmcPlaces& places);

// 0: every BMC did it; 3: some could not be asked.
int exit_code_of(const std::vector<BmcChange>& changes);

// "gpu[01-60]  on", a line for each answer that nodes share, in the order of the first that gave it.
std::string answers_text(const std::vector<std::pair<std::string, std::string>>& answers);

// Prints what was done where, as text or JSON, and answers the exit code.
int print_changes(const std::vector<BmcChange>& changes, std::string_view done, bool json);

// Subcommands of `railbed bmc`, which set *chosen to what is to be done.
void add_redfish_commands(CLI::App& app, const std::shared_ptr<Action>& chosen);

// Whether so many nodes may be touched: one may, of more a person is asked, unless `yes`.
bool may_touch(const Names& names, std::string_view what, bool yes);

}  // namespace railbed
