#include "bench/storage/storage_engine.h"

#include "bench/core/typed.h"
#include "bench/storage/storage.h"

namespace railbed {
namespace {

// One request from start to end: the files live in it, so whatever ends it, an agent that loses its
// controller too, removes them.
Handlers storage_handlers(AgentSide& side) {
  Handlers handlers;
  handlers.emplace(kStorage, typed_handler<StorageRequest>([host = side.host](const StorageRequest& request,
                                                                              std::stop_token stop) {
                     return Result<StorageAnswer>(measure_storage(*host, request, std::move(stop)));
                   }));
  return handlers;
}

}  // namespace

EngineRegistration storage_engine() { return {Engine::kStorage, storage_handlers}; }

}  // namespace railbed
