// The options of `railbed burn`, and the plan that follows from them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/reach.h"
#include "cli/measure/kept_run.h"

namespace CLI {
class App;
}

namespace railbed {

struct BurnOptions {
  std::vector<std::string> where;
  double hours = 0;
  double minutes = 0;
  std::vector<int> gpus;
  std::vector<std::string> phases;
  std::string memory;
  bool host = false;
  bool only_host = false;
  std::string host_memory;
  bool drives = false;
  bool only_drives = false;
  std::vector<std::string> drive_paths;
  std::string drive_writes;
  bool collectives = false;
  bool rails = false;
  bool only_rails = false;
  std::vector<std::string> inject;
  double unseen = 60;  // minutes
  std::string resume;
  bool stop = false;
  bool json = false;
  bool all = false;
  BurnPlan plan;
  KeepOptions keep;
  ReachOptions reach;
};

// Fills in `options.plan`. Fails if options do not fit together, or are about what the burn does not load. `app` knows
// which of them were given.
Result<void> fill_burn_plan(BurnOptions& options, const CLI::App& app);

}  // namespace railbed
