// Any bytes as a cluster.yaml: complaints or a cluster, never a crash; what was read survives writing.
//
// Rooms: inventory
// Seeds: tests/machines examples
#include <cstdint>

#include "base/json.h"
#include "fuzz/require.h"
#include "inventory/describe.h"
#include "inventory/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const auto cluster = parse_cluster(as_text(data, size), "cluster.yaml");
  if (!cluster) {
    require(cluster.error().kind == ErrorKind::kBadInput && !cluster.error().text.empty());
    return 0;
  }
  // Large clusters cost seconds here and teach nothing that small ones do not.
  if (cluster->nodes.size() > 500) return 0;
  require(!describe(*cluster).empty());
  const auto again = parse_cluster(write_cluster(*cluster), "cluster.yaml");
  require(again.has_value());
  require(json::dump(json::encode(*again)) == json::dump(json::encode(*cluster)));
  return 0;
}
