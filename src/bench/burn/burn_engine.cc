#include "bench/burn/burn_engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/burn/burn_session.h"
#include "bench/burn/held_burn.h"
#include "bench/core/sessions.h"
#include "bench/core/typed.h"
#include "bench/gpu/visible_gpus.h"
#include "host/host.h"
#include "nvidia/gpu_probe.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::size_t kMostBurns = 4;  // sessions that an agent keeps

Result<BurnFound> find_what(const BurnPlan& plan, const NvidiaLibraries& from,
                            const std::shared_ptr<Host>& host) {
  RETURN_IF_ERROR(check_burn(plan));
  BurnFound found;
  ASSIGN_OR_RETURN(found.drives, find_drives_to_burn(plan, host));
  if (!plan.has_gpus()) return found;
  ASSIGN_OR_RETURN(const VisibleGpus visible, visible_gpus_here(from, plan.gpus));
  for (const VisibleGpu& gpu : visible.gpus) found.names.push_back(gpu.name);
  const auto limits = ask_in_child(
      "power limits",
      [&](const Say& about_to) {
        nvml::Nvml nvml(from.nvml, about_to);
        std::vector<double> watts;
        const bool started = !start_nvml(nvml);
        for (const VisibleGpu& gpu : visible.gpus) {
          watts.push_back(0);
          if (!started) continue;
          if (const auto device = find_gpu(nvml, gpu.address))
            watts.back() =
                nvml.get<unsigned>("nvmlDeviceGetEnforcedPowerLimit", *device).value_or(0) / 1000.0;
        }
        return json::dump(json::encode(watts));
      },
      from.deadline);
  if (limits)
    if (auto watts = json::read<std::vector<double>>(*limits)) found.watts = std::move(*watts);
  found.watts.resize(found.names.size());
  return found;
}

using BurnSessions = Sessions<BurnSession, kMostBurns>;

Handlers burn_handlers(AgentSide& side) {
  const auto sessions = std::make_shared<BurnSessions>();
  Handlers handlers;
  handlers.emplace(kBurnFind, typed_handler<BurnPlan>([from = side.nvidia, host = side.host](
                                                          const BurnPlan& plan, std::stop_token) {
                     return find_what(plan, from, host);
                   }));
  handlers.emplace(kBurnBegin, typed_handler<BurnPlan>(
                                   [sessions, from = side.nvidia, host = side.host](
                                       const BurnPlan& plan, std::stop_token stop) -> Result<BurnName> {
                                     if (plan.keep && host) return start_held_burn(plan, stop);
                                     ASSIGN_OR_RETURN(auto session, begin_burn(plan, from, host));
                                     return BurnName{sessions->add(std::move(session))};
                                   }));
  handlers.emplace(
      kBurnLook, typed_handler<BurnName>([sessions, host = side.host](const BurnName& name,
                                                                      std::stop_token) -> Result<BurnState> {
        if (name.held && host) return look_at_held_burn(name.session, *host);
        ASSIGN_OR_RETURN(const auto session, sessions->find(name.session));
        return session->state();
      }));
  handlers.emplace(
      kBurnEnd, typed_handler<BurnName>(
                    [sessions, host = side.host](const BurnName& name, std::stop_token) -> Result<BurnState> {
                      if (name.held && host) return end_held_burn(name.session, *host);
                      ASSIGN_OR_RETURN(const auto session, sessions->find(name.session));
                      sessions->remove(name.session);
                      session->stop();
                      return session->state();
                    }));
  return handlers;
}

}  // namespace

EngineRegistration burn_engine() { return {Engine::kBurn, burn_handlers}; }

}  // namespace railbed
