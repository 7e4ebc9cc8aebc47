// Typed requests over the JSON text that peers exchange. Include it only in .cc files: it includes the JSON
// library.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/peer.h"

namespace railbed {

// Makes a handler from a function of (Request, stop) → Result<Answer>. The handler fails if the text is not a
// valid Request.
template <class Request, class Function>
Handler typed_handler(Function function) {
  return
      [function = std::move(function)](std::string_view text, std::stop_token stop) -> Result<std::string> {
        ASSIGN_OR_RETURN(auto request, json::read<Request>(text));
        ASSIGN_OR_RETURN(auto answer, function(request, std::move(stop)));
        return json::dump(json::encode(answer));
      };
}

// Calls a method of a peer and returns its decoded reply. Fails if the call fails or if the reply is not a
// valid Answer.
template <class Answer, class Request>
Result<Answer> ask(Peer& peer, std::string_view method, const Request& request,
                   std::chrono::milliseconds deadline, std::stop_token stop) {
  ASSIGN_OR_RETURN(auto text,
                   peer.call(method, json::dump(json::encode(request)), deadline, std::move(stop)));
  return json::read<Answer>(text);
}

}  // namespace railbed
