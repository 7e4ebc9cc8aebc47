// The view that a running `railbed monitor` or `railbed watch` shows, asked over HTTP.
#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"
#include "monitor/live_view.h"

namespace railbed {

// `address`: of its page, "http://127.0.0.1:9885/". What it answers is untrusted: capped, decoded strictly.
Result<LiveView> ask_live_view(const std::string& address, const std::stop_token& stop);

}  // namespace railbed
