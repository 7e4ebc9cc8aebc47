// A node among those that NCCL joins: the parameters of its process, and the news from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "results/collective.h"

namespace railbed {

// Names what NCCL may use between nodes. It chooses by itself where nothing is named.
struct NcclNetwork {
  std::string adapter;    // RDMA device and port, "mlx5_0:1"; empty: any
  std::string interface;  // TCP over this interface; empty: as NCCL chooses
  FIELDS(NcclNetwork, adapter, interface);
};

// This node's place among several nodes. For a single node both numbers are 0 and the id is empty.
struct NodePlace {
  std::vector<int> gpus;  // ordinals on this node; empty: all
  std::string library;    // NCCL's file; empty: the usual places
  int first_rank = 0;
  int ranks = 0;
  std::string id;  // ncclUniqueId in hexadecimal; empty: make one, and report it
  NcclNetwork network;
  FIELDS(NodePlace, gpus, library, first_rank, ranks, id, network);
};

inline constexpr int kMostNcclRanks = 1 << 16;  // our own limit

// Checks a place from an untrusted caller. Fails if a number is outside its limits, or a name has other characters than
// names of devices have.
Result<void> check_place(const NodePlace& place);

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
