#include "fabric/fabric_file.h"

#include <string>

#include "fabric/topology_file.h"

namespace railbed {

FabricFile fabric_file(std::string_view text) {
  const auto head = text.substr(0, 64 << 10);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  for (const std::string_view line : {"START_NODES\n", "START_NODES\r\n"})
    if (head.starts_with(line) || has(std::string("\n").append(line))) return FabricFile::kTables;
  if (has(" ==(") && has(")==>")) return FabricFile::kLinkList;
  const bool node = has("\nSwitch\t") || has("\nCa\t") || has("\nRt\t");
  if (node && (has("switchguid=0x") || has("caguid=0x") || has("rtguid=0x"))) return FabricFile::kTopology;
  return FabricFile::kNone;
}

Result<IbFabric> parse_fabric_file(std::string_view text, std::string_view file) {
  switch (fabric_file(text)) {
    case FabricFile::kLinkList:
      return parse_link_list(text, file);
    case FabricFile::kTables:
      return parse_fabric_tables(text, file);
    case FabricFile::kTopology:
    case FabricFile::kNone:
      break;
  }
  return parse_topology(text, file);
}

}  // namespace railbed
