// Work on GPUs that an agent starts in a child process on request. For .cc files, as core/typed.h is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/core/agent_side.h"
#include "bench/core/child_session.h"
#include "bench/core/typed.h"
#include "host/process.h"

namespace railbed {

// Adds a method that runs `run` with the request's Plan in a child with a session of its own, and answers the
// session's ChildName. `check` refuses what no controller asks; a Plan's `patience` is in seconds.
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
