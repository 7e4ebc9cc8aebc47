#include "bench/tcp_common.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "bench/block.h"
#include "bench/tcp.h"

namespace railbed {
namespace {

constexpr double kLongestRun = 3600;
constexpr int kMostStreams = 64;
constexpr std::uint64_t kLargestMessage = 4 << 20;
constexpr std::string_view kLinkRemedy =
    "look at both ends' link (ip -s link), cable and switch port, and ping one end from the other";

}  // namespace

Failure connect_failure(std::string_view peer, const std::string& text) {
  return {"connect", fmt::format("no TCP connection with {}: {}", peer, text),
          "check that both rail addresses are in one subnet, that the link is up, and that no firewall drops "
          "TCP between them"};
}

Failure send_failure(std::string_view peer, Break why, int fd) {
  Failure failure{"run", "", ""};
  const auto seconds = std::chrono::duration<double>(kSenderPatience).count();
  if (why == Break::kStalled) {
    const TcpInfo info = read_tcp_info(fd);
    if (info.unanswered > 0) {
      failure.cause = fmt::format("no acknowledgement from {} for {} s ({} retransmissions unanswered)", peer,
                                  seconds, info.unanswered);
      failure.remedy = kLinkRemedy;
    } else {
      failure.cause =
          fmt::format("{} stopped reading for {} s: its receive window stayed closed", peer, seconds);
      failure.remedy = fmt::format("see whether {} is overloaded or its railbed agent is stopped", peer);
    }
  } else if (why == Break::kClosed) {
    failure.cause = fmt::format("{} closed the connection before the end", peer);
    failure.remedy = fmt::format("see whether the railbed agent on {} was killed", peer);
  } else if (why == Break::kStopped) {
    failure.cause = "stopped on request";
  } else {
    failure.cause = fmt::format("sending to {}: {}", peer, std::strerror(errno));
    failure.remedy = kLinkRemedy;
  }
  return failure;
}

Failure receive_failure(std::string_view peer, Break why) {
  Failure failure{"run", "", ""};
  if (why == Break::kStalled) {
    failure.cause = fmt::format("no data from {} for {} s", peer,
                                std::chrono::duration<double>(kReceiverPatience).count());
    failure.remedy = kLinkRemedy;
  } else if (why == Break::kClosed) {
    failure.cause = fmt::format("{} closed the connection before the end", peer);
    failure.remedy = fmt::format("see whether the railbed agent on {} was killed", peer);
  } else if (why == Break::kStopped) {
    failure.cause = "stopped on request";
  } else {
    failure.cause = fmt::format("receiving from {}: {}", peer, std::strerror(errno));
    failure.remedy = kLinkRemedy;
  }
  return failure;
}

Failure verify_failure(std::string_view peer, std::uint64_t wrong_bytes) {
  return {
      "verify", fmt::format("data arrived changed: {} bytes differ from what {} sent", wrong_bytes, peer),
      "suspect memory, the adapter or its offloads (TCP's checksum passed): ethtool -K INTERFACE rx off tx "
      "off, then measure again"};
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
