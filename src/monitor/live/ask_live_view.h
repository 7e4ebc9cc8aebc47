// Fetches the view of a running `railbed monitor` or `railbed watch` over HTTP.
#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"
#include "monitor/live/live_view.h"

namespace railbed {

// Fetches live.json from the page at `address`, "http://127.0.0.1:9885/", and returns the view in it. The
// response is untrusted: its size and its number of findings and events are limited, and it is decoded
// strictly. Fails with kUnavailable if nothing responds within 10 seconds, and with kBadInput if the response
// is no view.
Result<LiveView> ask_live_view(const std::string& address, const std::stop_token& stop);

}  // namespace railbed
