#include "fabric/fabric_file.h"

#include <string>

#include "base/text.h"
#include "fabric/planes.h"
#include "fabric/topology_file.h"

namespace railbed {
namespace {

// iblinkinfo's links stand below the line of their device or, with -l, begin with its GUID and its name. A single link
// that another tool quotes (ibqueryerrors' "Link info:") is no list.
bool is_link_list(std::string_view head) {
  bool below_device = false;
  for (const std::string_view line : lines(head)) {
    const auto text = trim(line);
    below_device = below_device || text.starts_with("CA: ") || text.starts_with("Switch: ") ||
                   text.starts_with("Router: ");
    const auto link = text.find(" ==(");
    if (link == text.npos || text.find(")==>", link) == text.npos) continue;
    if (text.starts_with("0x") ? below_device || text.substr(0, link).find('"') != text.npos
                               : below_device && text.front() >= '0' && text.front() <= '9')
      return true;
  }
  return false;
}

}  // namespace

FabricFile fabric_file(std::string_view text) {
  const auto head = text.substr(0, 64 << 10);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  for (const std::string_view line : {"START_NODES\n", "START_NODES\r\n"})
    if (head.starts_with(line) || has(std::string("\n").append(line))) return FabricFile::kTables;
  if (is_port_list(head)) return FabricFile::kPortList;
  if (is_link_list(head)) return FabricFile::kLinkList;
  if (is_net_dump(head)) return FabricFile::kNetDump;
  // ibdiagnet writes blanks where ibnetdiscover has a tab.
  const bool node = has("\nSwitch\t") || has("\nCa\t") || has("\nRt\t") || has("\nSwitch  ") || has("\nCa  ");
  if (node && (has("switchguid=0x") || has("caguid=0x") || has("rtguid=0x"))) return FabricFile::kTopology;
  return FabricFile::kNone;
}

namespace {

Result<IbFabric> parse(std::string_view text, std::string_view file) {
  switch (fabric_file(text)) {
    case FabricFile::kPortList:
      return parse_port_list(text, file);
    case FabricFile::kLinkList:
      return parse_link_list(text, file);
    case FabricFile::kTables:
      return parse_fabric_tables(text, file);
    case FabricFile::kNetDump:
      return parse_net_dump(text, file);
    case FabricFile::kTopology:
    case FabricFile::kNone:
      break;
  }
  return parse_topology(text, file);
}

}  // namespace

Result<IbFabric> parse_fabric_file(std::string_view text, std::string_view file) {
  auto fabric = parse(text, file);
  if (fabric) merge_planes(*fabric);
  return fabric;
}

}  // namespace railbed
