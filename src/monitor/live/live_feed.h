// Serves the live page and its data. The page fetches the whole view once, and receives each change as a
// server-sent event. A page that missed a change, because it was slow or asleep, fetches the whole view
// again. So an update is as small as the change, and a slow reader costs the service nothing.
//
//   /            the page       /live.json   {"feed": …, "version": 7, "view": {…}, "picture": 2}
//   /picture     SVG            /live        {"feed": …, "from": 6, "to": 7, "change": {…}}
//
// The change has the format of monitor/live/live_change.h, and "feed" distinguishes one process from the next.
//
// No view is computed while no reader is connected.
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
#include "monitor/live/live_view.h"
#include "monitor/web/web_server.h"

namespace railbed {

// One state of the live page.
struct LiveShown {
  LiveView view;
  std::string picture;  // result of draw_live_picture()
};

// See the head of this file. Thread-safe.
class LiveFeed {
 public:
  using Make = std::function<LiveShown()>;  // one call at a time
  LiveFeed(std::chrono::milliseconds every, Make make) : every_(every), make_(std::move(make)) {}

  // Returns the response to a request; nullopt if the path is not of the live page.
  std::optional<WebAnswer> answer(const WebRequest& request);
  // Publishes changes every `every` until `stop` is requested.
  void run(WebServer& server, std::stop_token stop);

 private:
  // Computes the view again and returns the message about its changes. Requires the mutex.
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
