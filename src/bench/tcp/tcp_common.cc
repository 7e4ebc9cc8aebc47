#include "bench/tcp/tcp_common.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "bench/tcp/block.h"
#include "bench/tcp/tcp.h"

namespace railbed {
namespace {

constexpr double kLongestRun = 3600;
constexpr int kMostStreams = 64;
constexpr std::uint64_t kLargestMessage = 4 << 20;
constexpr std::string_view kLinkRemedy =
    "look at both ends' link (ip -s link), cable and switch port, and ping one end from the other";

// Returns the failure for every break except a stall, which each side sees differently. Reads errno.
Failure broken_off(std::string_view peer, Break why, std::string_view doing) {
  if (why == Break::kClosed)
    return {"run", fmt::format("{} closed the connection before the end", peer),
            fmt::format("see whether the railbed agent on {} was killed", peer), FailureKind::kClosed};
  if (why == Break::kStopped) return stopped_failure();
  return {"run", fmt::format("{} {}: {}", doing, peer, std::strerror(errno)), std::string(kLinkRemedy)};
}

}  // namespace

Failure connect_failure(std::string_view peer, const std::string& text) {
  return {"connect", fmt::format("no TCP connection with {}: {}", peer, text),
          "check that both rail addresses are in one subnet, that the link is up, "
          "and that no firewall drops TCP between them"};
}

Failure send_failure(std::string_view peer, Break why, int fd) {
  if (why != Break::kStalled && why != Break::kSlow) return broken_off(peer, why, "sending to");
  const auto seconds = std::chrono::duration<double>(kSenderPatience).count();
  const TcpInfo info = read_tcp_info(fd);
  if (why == Break::kSlow)
    return {"run",
            fmt::format("the path to {} is too slow for this measurement: {} still wait after {} s", peer,
                        to_text(ByteCount{info.waiting}), 3 * seconds),
            "look for a limit on what this end sends (tc -s qdisc show) and for the ports' speeds; "
            "smaller messages leave less in the buffer (--sizes 4K)"};
  if (info.unanswered > 0)
    return {"run",
            fmt::format("no acknowledgement from {} for {} s ({} retransmissions unanswered)", peer, seconds,
                        info.unanswered),
            std::string(kLinkRemedy)};
  return {"run", fmt::format("{} stopped reading for {} s: its receive window stayed closed", peer, seconds),
          fmt::format("see whether {} is overloaded or its railbed agent is stopped", peer)};
}

Failure receive_failure(std::string_view peer, Break why) {
  if (why != Break::kStalled) return broken_off(peer, why, "receiving from");
  const auto seconds = std::chrono::duration<double>(kReceiverPatience).count();
  return {"run", fmt::format("no data from {} for {} s", peer, seconds), std::string(kLinkRemedy)};
}

Failure verify_failure(std::string_view peer, std::uint64_t wrong_bytes) {
  return {"verify", fmt::format("data arrived changed: {} bytes differ from what {} sent", wrong_bytes, peer),
          "suspect memory, the adapter or its offloads (TCP's checksum passed): "
          "ethtool -K INTERFACE rx off tx off, then measure again"};
}

Result<void> check_plan(const TcpPlan& plan, std::uint64_t smallest_message) {
  if (plan.streams < 1 || plan.streams > kMostStreams)
    return fail(ErrorKind::kBadInput, fmt::format("streams: 1 to {}", kMostStreams));
  if (plan.message_bytes < smallest_message || plan.message_bytes > kLargestMessage)
    return fail(ErrorKind::kBadInput,
                fmt::format("message size: {} to {} bytes", smallest_message, kLargestMessage));
  if (!(plan.warmup >= 0 && plan.seconds > 0 && plan.warmup + plan.seconds <= kLongestRun))
    return fail(ErrorKind::kBadInput, fmt::format("duration: more than 0, at most {} s", kLongestRun));
  return {};
}

}  // namespace railbed
