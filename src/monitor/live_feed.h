// The live page and what feeds it. The page asks for the whole view once, and hears of each change by
// server-sent events; one that missed a change, for it was slow or asleep, asks for the whole again. So an
// update is as small as what changed, and whoever does not read costs the service nothing.
//
//   /            the page       /live.json   {"feed": …, "version": 7, "view": {…}, "picture": 2}
//   /picture     SVG            /live        {"feed": …, "from": 6, "to": 7, "change": {…}}
//
// where a change is monitor/live_change.h's and "feed" tells one process from the next.
//
// Nothing is made while nobody reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/moment.h"
#include "monitor/live_view.h"
#include "monitor/web_server.h"

namespace railbed {

struct LiveShown {
  LiveView view;
  std::string picture;  // draw_live_picture()'s
};

class LiveFeed {
 public:
  using Make = std::function<LiveShown()>;  // one at a time
  LiveFeed(std::chrono::milliseconds every, Make make) : every_(every), make_(std::move(make)) {}

  std::optional<WebAnswer> answer(const WebRequest& request);  // nothing: it is not of the live page
  // Publishes changes until it is told to stop.
  void run(WebServer& server, std::stop_token stop);

 private:
  // Makes the view anew; what changed. The lock is held.
  json::Value advance();
  WebAnswer whole();

  const std::chrono::milliseconds every_;
  const Make make_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point made_ = {};
  const double feed_ = now_unix();
  std::uint64_t version_ = 0;
  json::Value known_;
  std::string picture_;
  std::uint64_t picture_version_ = 0;
};

}  // namespace railbed
