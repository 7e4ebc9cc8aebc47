// A file that is named as the history of runs may hold anything: it is opened or refused, and its runs are
// listed, taken and kept, or refused.
//
// Rooms: store
#include <cstdint>
#include <string>

#include "fuzz/require.h"
#include "fuzz/scratch.h"
#include "store/store.h"

using namespace railbed;

namespace {

template <class T>
bool came(const Result<T>& result) {
  if (!result) require_printable(result.error().text);
  return result.has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch("history.sqlite");
  scratch.write(as_text(data, size));
  auto store = Store::open(scratch.path());
  if (!came(store)) return 0;
  if (const auto runs = store->list(); came(runs)) {
    for (std::size_t i = 0; i < runs->size() && i < 4; ++i)
      if (const auto run = store->get((*runs)[i].id))
        require(run->id == (*runs)[i].id);
      else
        require_printable(run.error().text);
  }
  (void)came(store->baseline());
  if (const auto id = store->add(BenchRun{}); came(id)) {
    (void)came(store->set_baseline(*id));
    (void)came(store->remove(*id));
  }
  return 0;
}
