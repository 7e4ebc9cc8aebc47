// A node among those that NCCL joins: the parameters of its process, and the news from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/collective.h"

namespace railbed {

// This node's place among several nodes. For a single node both numbers are 0 and the id is empty.
struct NodePlace {
  std::vector<int> gpus;  // ordinals on this node; empty: all
  std::string library;    // NCCL's file; empty: the usual places
  int first_rank = 0;
  int ranks = 0;
  std::string id;  // ncclUniqueId in hexadecimal; empty: make one, and report it
  FIELDS(NodePlace, gpus, library, first_rank, ranks, id);
};

inline constexpr int kMostNcclRanks = 1 << 16;  // our own limit

// Returns whether an agent accepts this place.
inline bool is_possible(const NodePlace& place) {
  return place.ranks >= 0 && place.ranks <= kMostNcclRanks && place.first_rank >= 0 &&
         place.first_rank <= place.ranks;
}

// The news of every such process about its beginning and its end. Some of the members are set.
struct NodeNews {
  std::optional<std::string> id = {};
  std::optional<std::string> version = {};
  std::optional<std::string> library = {};
  std::optional<std::vector<CollectiveRank>> ranks = {};
  std::optional<std::string> failure = {};
  FailureKind kind = FailureKind::kOther;  // of the failure
  FIELDS(NodeNews, id, version, library, ranks, failure, kind);
};

}  // namespace railbed
