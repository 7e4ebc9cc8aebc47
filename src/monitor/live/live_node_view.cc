#include "monitor/live/live_node_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/moment.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kCountedWithin{3};

}  // namespace

LiveShown LiveNodeView::operator()() {
  const NodeState state = watch_.state(kCountedWithin);
  const auto now = std::chrono::steady_clock::now();
  if (state.counts != count_.counts) count_.at = now;
  count_.counts = state.counts;
  count_.gpus = state.gpus;
  LiveShown shown;
  if (state.look) shown = {state.look->live, state.look->picture};
  shown.view.made_at = now_unix();
  if (!state.look) shown.view.sentence = "Nothing was looked at yet";
  for (LiveNode& node : shown.view.nodes) {
    node.look_age = std::max(0.0, std::round(shown.view.made_at - state.look->when));
    if (count_.counts) node.count_age = std::chrono::floor<std::chrono::seconds>(now - count_.at).count();
    meter_.measure(shown.view, node.name, count_);
  }
  meter_.forget_unused();
  add_story(shown.view, desk_.present(), desk_.recent(kLiveEvents));
  return shown;
}

}  // namespace railbed
