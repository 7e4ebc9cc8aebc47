#include "monitor/live/ask_live_view.h"

#include <fmt/format.h>

#include <chrono>

#include "base/bounded.h"
#include "base/fields.h"
#include "base/json.h"
#include "os/curl.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kAskedFor{10};
constexpr std::size_t kMostView = 16 << 20;
constexpr std::size_t kLongestText = 16 << 10;  // limit for a message or a remedy; most are a few words

// The part of /live.json that is read (live_feed.h).
struct ShownAnswer {
  LiveView view;
  FIELDS(ShownAnswer, view);
};

}  // namespace

Result<LiveView> ask_live_view(const std::string& address, const std::stop_token& stop) {
  if (address.find("://") != std::string::npos && !address.starts_with("http://") &&
      !address.starts_with("https://"))
    return fail(ErrorKind::kBadInput,
                fmt::format("{}: write http://HOST:PORT or https://HOST:PORT, as railbed monitor prints it",
                            address));
  if (!curl().error.empty()) return fail(ErrorKind::kUnavailable, curl().error);
  const std::string url = address + (address.ends_with('/') ? "live.json" : "/live.json");
  HttpHandle handle;
  if (!handle.begin(CURLPROTO_HTTP | CURLPROTO_HTTPS, kAskedFor, stop))
    return fail(ErrorKind::kUnavailable, "libcurl gave no handle");
  HttpBody body{kMostView};
  const CURLcode code = handle.perform(url, {"User-Agent: railbed"}, body, kAskedFor);
  if (code != CURLE_OK)
    return fail(ErrorKind::kUnavailable,
                fmt::format("{}: {}: is railbed monitor or railbed watch running there?", address,
                            curl().words(code)));
  if (handle.status() != 200)
    return fail(ErrorKind::kUnavailable, fmt::format("{} answers HTTP {}", url, handle.status()));
  const auto odd = [&](const std::string& why) {
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{} is no page of railbed's: {}; name the address that railbed monitor or railbed watch "
                    "prints",
                    url, why));
  };
  if (longest_string(body.text) > kLongestText)
    return odd(fmt::format("it holds a text of more than {} KiB", kLongestText >> 10));
  auto answer = json::read<ShownAnswer>(body.text);
  if (!answer) return fail(std::move(answer.error()), url);
  const LiveView& view = answer->view;
  // A monitor that has just started has a time, but no nodes yet.
  if (view.nodes.empty() && view.made_at == 0) return odd("it shows no node");
  if (view.findings.size() > kLiveFindings || view.events.size() > kLiveEvents)
    return odd("it shows more findings or events than railbed does");
  return std::move(answer->view);
}

}  // namespace railbed
