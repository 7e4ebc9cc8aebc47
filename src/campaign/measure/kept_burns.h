// The burn-ins of this controller that go on without it: one file for each, in the user's state folder, from its start
// until its verdict. It has what another process needs to follow the burn-in (`railbed burn --resume`): the plan, the
// nodes, and the name under which each holds its work. It has no secret.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/fields.h"
#include "base/result.h"
#include "bench/burn/burn.h"
#include "inventory/cluster.h"

namespace railbed {

struct KeptBurnNode {
  std::string name;
  std::string destination;  // for ssh; "localhost": this machine
  std::vector<int> gpus;    // as in GpuPlace
  bool began = false;
  std::string trouble;  // why it did not
  FIELDS(KeptBurnNode, name, destination, gpus, began, trouble);
};

struct KeptBurn {
  int version = 1;
  std::string railbed = {};
  std::string id = {};
  double started = 0;  // Unix seconds, of the load
  BurnPlan plan = {};
  std::string ssh_config = {};  // of the cluster; empty: the user's own
  std::vector<KeptBurnNode> nodes = {};
  std::optional<Cluster> cluster = {};              // whose rails are loaded; nullopt: none are
  std::optional<BurnRails> rails = {};              // what was measured of them, about a minute ago at most
  std::optional<BurnCollectives> collectives = {};  // likewise
  std::string command = {};                         // as in RunRequest, like the two below
  std::map<std::string, std::string> asked = {};
  std::string label = {};
  FIELDS(KeptBurn, version, railbed, id, started, plan, ssh_config, nodes, cluster, rails, collectives,
         command, asked, label);
};

// Returns the name under which a node of a burn-in holds its work. Several nodes may be one machine.
std::string held_name(const std::string& id, std::size_t node);

class KeptBurns {
 public:
  // Opens the user's folder, and makes it if it is missing. Fails if there is none, or others may write to it.
  static Result<KeptBurns> open();

  Result<void> write(const KeptBurn& burn) const;
  Result<KeptBurn> read(const std::string& id) const;
  std::vector<std::string> ids() const;
  void remove(const std::string& id) const;
  // Returns the lock of the one process that follows a burn-in; an empty Fd if another has it.
  Fd lock(const std::string& id) const;

 private:
  KeptBurns(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  Fd folder_;
  std::string path_;
};

}  // namespace railbed
