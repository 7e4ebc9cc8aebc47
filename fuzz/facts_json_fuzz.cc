// Facts come from other nodes: whatever they send is facts, or an Error. What is accepted goes through JSON
// unchanged.

// Rooms: facts
// Seeds: tests/machines
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/facts.h"
#include "facts/network/net.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const auto facts = facts_from_json({reinterpret_cast<const char*>(data), size});
  if (!facts) return 0;
  const std::string text = facts_to_json(*facts);
  const auto again = facts_from_json(text);
  if (!again || facts_to_json(*again) != text) std::abort();
  // What is asked of foreign facts everywhere must end, whatever they say.
  for (const auto& interface : facts->net.interfaces.value_or({}))
    rdma_port_of(facts->rdma, facts->net, interface.name);
  for (const auto& device : facts->pci.value_or({})) path_to_root(*facts->pci, device);
  return 0;
}
