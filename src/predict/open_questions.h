// The properties that a description of a cluster leaves open although a forecast depends on them.
#pragma once

#include <string_view>
#include <vector>

#include "predict/cluster_shape.h"

namespace railbed {

// The question of whether the GPUs are cards or lie on a board that joins them.
inline constexpr std::string_view kFormQuestion = "GPUs";

// Returns the questions about a shape that was made of these words: the form of a GPU that is sold as a card and
// on a board, GPUDirect RDMA where the adapters may be too old for it, the slots, and which halves of a GB10's port
// carry data. A property that the words state, or that their layout shows, is not among them.
std::vector<OpenQuestion> open_questions(const ClusterShape& shape, const ShapeWords& words);

}  // namespace railbed
