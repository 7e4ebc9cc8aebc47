// Work on GPUs that an agent starts in a child process on request. Include it only in .cc files, like
// core/typed.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/core/agent_side.h"
#include "bench/core/child_session.h"
#include "bench/core/typed.h"
#include "os/process.h"

namespace railbed {

// Adds a method that starts `run` with the request's Plan in a child process, as a new session, and returns
// the session's ChildName at once. The method fails if `check` does, which tests untrusted numbers.
// `plan.patience` is the timeout of one step of the child, in seconds.
template <class Plan>
void add_child_work(Handlers& handlers, std::string_view method, AgentSide& side,
                    Result<void> (*check)(const Plan& plan),
                    void (*run)(const Plan& plan, const NvidiaLibraries& from, const Tell& tell)) {
  handlers.emplace(
      method, typed_handler<Plan>([children = side.shared<ChildSessions>(), from = side.nvidia, check, run](
                                      const Plan& plan, std::stop_token) -> Result<ChildName> {
        RETURN_IF_ERROR(check(plan));
        const std::chrono::milliseconds patience(static_cast<std::int64_t>(plan.patience * 1000));
        return ChildName{children->add(std::make_shared<ChildSession>(
            [plan, from, run](const Tell& tell) { run(plan, from, tell); }, patience))};
      }));
}

}  // namespace railbed
