#include "bench/storage/storage_engine.h"

#include "bench/core/typed.h"
#include "bench/storage/storage.h"

namespace railbed {
namespace {

// The whole measurement is one request, which owns the files. So they are removed whenever the request ends,
// also when the agent loses its controller.
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
