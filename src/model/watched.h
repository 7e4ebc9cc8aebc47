// What a monitor saw of a node over time, for rules that no single look can judge.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/fields.h"
#include "model/job_spell.h"
#include "model/watched_link.h"

namespace railbed {

struct Watched {
  JobSpells work = {};
  std::map<std::string, WatchedLink> links = {};  // by interface, of those with an RDMA device
  FIELDS(Watched, work, links);
};

// Returns what is not too old to be judged; null if nothing is.
std::shared_ptr<const Watched> judged_at(Watched watched, double now);

}  // namespace railbed
