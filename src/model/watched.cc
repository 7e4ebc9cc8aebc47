#include "model/watched.h"

namespace railbed {
namespace {

constexpr double kOldestLink = 3600;  // seconds

}  // namespace

std::shared_ptr<const Watched> judged_at(Watched watched, double now) {
  if (now - watched.work.when > kLongestGap) watched.work = {};
  for (auto& [interface, link] : watched.links) {
    if (now - link.when <= kOldestLink) continue;
    link.optics.reset();
    link.bit_errors.reset();
    link.fec.reset();
    link.lost.reset();
  }
  return watched.work.when > 0 || !watched.links.empty() ? std::make_shared<const Watched>(std::move(watched))
                                                         : nullptr;
}

}  // namespace railbed
