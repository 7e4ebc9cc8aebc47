#include "bench/engines/engines.h"

#include <algorithm>

#include "bench/burn/burn_engine.h"
#include "bench/cm/cm_engine.h"
#include "bench/collective/collective_engine.h"
#include "bench/gpu/gpu_engine.h"
#include "bench/ping/ping_engine.h"
#include "bench/storage/storage_engine.h"
#include "bench/tcp/tcp_engine.h"
#include "bench/train/train_engine.h"
#include "bench/verbs/rdma_engine.h"

namespace railbed {

const std::vector<EngineRegistration>& engines() {
  static const std::vector<EngineRegistration> kEngines{
      tcp_engine(),         // between two nodes
      rdma_engine(),        // between two nodes
      ping_engine(),        // between two nodes
      cm_engine(),          // between two nodes
      storage_engine(),     // a node's drives and file servers
      train_engine(),       // all nodes
      gpu_engine(),         // a node's GPUs
      collective_engine(),  // the GPUs of all nodes
      burn_engine(),        // the GPUs of all nodes, each by itself
  };
  return kEngines;
}

const PairMeasuring* find_pair_measuring(Engine engine) {
  const auto found = std::ranges::find(engines(), engine, &EngineRegistration::engine);
  return found != engines().end() && found->pair ? &*found->pair : nullptr;
}

}  // namespace railbed
