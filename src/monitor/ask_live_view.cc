#include "monitor/ask_live_view.h"

#include <fmt/format.h>

#include <chrono>

#include "base/json.h"
#include "host/curl.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kAskedFor{10};
constexpr std::size_t kMostView = 32 << 20;

// What of /live.json is read (live_feed.h).
struct ShownAnswer {
  LiveView view;
  static void fields(auto&& field) { field("view", &ShownAnswer::view); }
};

}  // namespace

Result<LiveView> ask_live_view(const std::string& address, const std::stop_token& stop) {
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
  auto answer = json::read<ShownAnswer>(body.text);
  if (!answer) return fail(std::move(answer.error()), url);
  return std::move(answer->view);
}

}  // namespace railbed
