// The agent on one node, as callers see it: call a method, get a result within a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const std::string& node() const = 0;
  // Calls a method of the agent. Thread-safe: calls may overlap. `params` and the result are JSON text.
  // Returns at the deadline, when the agent dies, or when `stop` is requested, whichever comes first; the
  // agent then receives a request to stop that call.
  virtual Result<std::string> call(std::string_view method, std::string params,
                                   std::chrono::milliseconds deadline, std::stop_token stop = {}) = 0;
};

// The agent's side: a handler may run for a long time and must return soon after `stop` is requested.
using Handler = std::function<Result<std::string>(std::string_view params, std::stop_token stop)>;
using Handlers = std::map<std::string, Handler, std::less<>>;

}  // namespace railbed
