// A node among those that NCCL joins: what its process is given, and what it tells of itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/collective.h"

namespace railbed {

// This node's place among several; alone, both numbers are 0 and the id is empty.
struct NodePlace {
  std::vector<int> gpus;  // ordinals on this node; empty: all
  std::string library;    // NCCL's file; empty: where it usually lies
  int first_rank = 0;
  int ranks = 0;
  std::string id;  // hex of ncclUniqueId; empty: make one, and say it
  FIELDS(NodePlace, gpus, library, first_rank, ranks, id);
};

inline constexpr int kMostNcclRanks = 1 << 16;  // ours

// What an agent accepts.
inline bool is_possible(const NodePlace& place) {
  return place.ranks >= 0 && place.ranks <= kMostNcclRanks && place.first_rank >= 0 &&
         place.first_rank <= place.ranks;
}

// What every such process tells of its beginning and its end; some of the members are there.
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
