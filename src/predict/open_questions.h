// The properties that a description of a cluster leaves open although a forecast may depend on them.
#pragma once

#include <string_view>
#include <vector>

#include "predict/cluster_shape.h"

namespace railbed {

// The question of which product the GPUs are: a card or on a board that joins them, or the one of two names.
inline constexpr std::string_view kFormQuestion = "GPUs";

// Returns the questions about a shape that was made of these words: the form of a GPU that is sold as a card and
// on a board, GPUDirect RDMA where the adapters may be too old for it, the slots, and which halves of a GB10's port
// carry data. A property that the words state, or that their layout shows, is not among them; what a name that no
// table has would state, is. `nics` is the number of adapters of a node, of which the shape may use fewer.
std::vector<OpenQuestion> open_questions(const ClusterShape& shape, const ShapeWords& words, int nics);

}  // namespace railbed
