#include "bench/both.h"

#include <fmt/format.h>

namespace railbed {
namespace {

Failure agent_failure(const std::string& node, const Error& error) {
  return {"run", fmt::format("the agent on {}: {}", node, error.text),
          fmt::format("see whether {} is up and its railbed agent was not killed", node)};
}

bool damaged(const std::optional<Failure>& failure) { return failure && failure->stage == "verify"; }

}  // namespace

std::optional<Failure> cause_of(const std::string& sender_node, const Error* sender_error,
                                const std::optional<Failure>& sender_failure,
                                const std::string& receiver_node, const Error* receiver_error,
                                const std::optional<Failure>& receiver_failure) {
  if (damaged(receiver_failure)) return receiver_failure;
  if (damaged(sender_failure)) return sender_failure;
  // Cancelled is what we did to a side that outlived the other's failure: it did not answer.
  const auto ended = [](const Error* error) {
    return error != nullptr && error->kind != ErrorKind::kCancelled;
  };
  if (ended(sender_error)) return agent_failure(sender_node, *sender_error);
  if (ended(receiver_error)) return agent_failure(receiver_node, *receiver_error);
  std::optional<Failure> cause = sender_failure ? sender_failure : receiver_failure;
  const auto silent = [&](const Error* error, const std::string& node) {
    if (error == nullptr) return;
    if (!cause)
      cause = stopped_failure();
    else
      cause->cause += fmt::format("; the agent on {} did not answer either", node);
  };
  silent(sender_error, sender_node);
  silent(receiver_error, receiver_node);
  return cause;
}

}  // namespace railbed
