// Typed requests over the JSON text that peers exchange. For .cc files: it brings the JSON library along.
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

// A handler from a function of (Request, stop) → Result<Answer>.
template <class Request, class Function>
Handler typed_handler(Function function) {
  return
      [function = std::move(function)](std::string_view text, std::stop_token stop) -> Result<std::string> {
        auto request = json::read<Request>(text);
        if (!request) return fail(request.error());
        auto answer = function(*request, std::move(stop));
        if (!answer) return fail(answer.error());
        return json::dump(json::encode(*answer));
      };
}

template <class Answer, class Request>
Result<Answer> ask(Peer& peer, std::string_view method, const Request& request,
                   std::chrono::milliseconds deadline, std::stop_token stop) {
  auto text = peer.call(method, json::dump(json::encode(request)), deadline, std::move(stop));
  if (!text) return fail(text.error());
  return json::read<Answer>(*text);
}

}  // namespace railbed
