#include "bench/collective/collective_engine.h"

#include "bench/collective/collective_child.h"
#include "bench/collective/measure_collective.h"
#include "bench/gpu/child_work.h"

namespace railbed {
namespace {

Handlers collective_handlers(AgentSide& side) {
  Handlers handlers;
  add_child_work<CollectivePlan>(handlers, kCollective, side, check_plan, run_collective);
  return handlers;
}

}  // namespace

EngineRegistration collective_engine() { return {Engine::kCollective, collective_handlers}; }

}  // namespace railbed
