#include "bench/core/chained_stop.h"

#include <utility>

namespace railbed {

ChainedStop::ChainedStop(std::stop_token outer)
    : relay_(std::move(outer), [this] { source_.request_stop(); }) {}
ChainedStop::~ChainedStop() = default;

}  // namespace railbed
