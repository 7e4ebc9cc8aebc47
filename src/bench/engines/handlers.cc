#include "bench/engines/handlers.h"

#include "bench/burn/burn_engine.h"
#include "bench/collective/collective_engine.h"
#include "bench/core/child_session.h"
#include "bench/core/link.h"
#include "bench/core/other_traffic.h"
#include "bench/core/other_work.h"
#include "bench/engines/engines.h"
#include "bench/gpu/gpu_engine.h"
#include "bench/path/path_handlers.h"
#include "bench/train/train_engine.h"

namespace railbed {

Handlers bench_handlers(std::shared_ptr<Host> host, StartPeer start) {
  AgentSide side(std::move(host), nvidia_libraries(), std::move(start));
  Handlers all = link_handlers(side.host);
  all.merge(path_handlers(side));
  all.merge(work_handlers(side.host));
  all.merge(traffic_handlers(side.host));
  all.merge(child_handlers(side));
  for (const EngineRegistration& engine : engines()) all.merge(engine.handlers(side));
  return all;
}

Handlers gpu_handlers(const NvidiaLibraries& from) {
  AgentSide side(nullptr, from);
  Handlers all = child_handlers(side);
  for (const EngineRegistration& engine : {gpu_engine(), collective_engine(), train_engine(), burn_engine()})
    all.merge(engine.handlers(side));
  return all;
}

}  // namespace railbed
