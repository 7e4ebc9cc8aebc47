#include "monitor/live/live_feed.h"

#include <condition_variable>
#include <cstdint>

#include "monitor/live/live_change.h"
#include "monitor/live/live_page.h"

namespace railbed {
namespace {

constexpr std::string_view kPath = "/live";
constexpr const char* kHtml = "text/html; charset=utf-8";

}  // namespace

json::Value LiveFeed::advance() {
  LiveShown shown = make_();
  if (shown.picture != picture_) {
    picture_ = std::move(shown.picture);
    ++picture_version_;
  }
  json::Value now{{"view", json::encode(shown.view)}, {"picture", picture_version_}};
  json::Value message{{"feed", feed_}, {"from", version_}, {"to", version_ + 1}};
  if (auto change = change_between(known_, now)) message["change"] = std::move(*change);
  ++version_;
  known_ = std::move(now);
  made_ = std::chrono::steady_clock::now();
  return message;
}

WebAnswer LiveFeed::whole() {
  const std::lock_guard lock(mutex_);
  // A new version here would make all other readers fetch the whole view again. Avoid it while the stream is
  // active.
  if (version_ == 0 || std::chrono::steady_clock::now() - made_ > 2 * every_) advance();
  json::Value document{{"feed", feed_}, {"version", version_}};
  document.update(known_);
  return {.type = "application/json", .body = json::dump(document)};
}

std::optional<WebAnswer> LiveFeed::answer(const WebRequest& request) {
  if (request.path == "/") return WebAnswer{.type = kHtml, .body = live_page(), .headers = live_headers()};
  if (request.path == "/live.json") return whole();
  if (request.path != "/picture") return std::nullopt;
  const std::lock_guard lock(mutex_);
  return WebAnswer{.type = kHtml, .body = picture_, .headers = live_headers()};
}

void LiveFeed::run(WebServer& server, std::stop_token stop) {
  // The first message makes the path a stream before anything has changed. Its readers fetch the whole view.
  server.publish(kPath, json::dump(json::Value{{"feed", feed_}, {"from", 0}, {"to", 0}}));
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    woken.wait_for(lock, stop, every_, [] { return false; });
    if (stop.stop_requested() || server.event_readers() == 0) continue;
    const std::lock_guard made(mutex_);
    server.publish(kPath, json::dump(advance()));
  }
}

}  // namespace railbed
