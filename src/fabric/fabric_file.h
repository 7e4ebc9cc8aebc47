// A subnet from a file of any tool: ibnetdiscover's dump or its list of ports (-p), iblinkinfo's list of links (plain,
// or with -l), ibdiagnet's tables (ibdiagnet2.db_csv) or its list of switches' ports (ibdiagnet2.net_dump), recognised by
// their content.
#pragma once

#include <string_view>

#include "base/result.h"
#include "fabric/subnet.h"

namespace railbed {

enum class FabricFile { kNone, kTopology, kPortList, kLinkList, kTables, kNetDump };

// Returns what a text is, by its first 64 KiB.
FabricFile fabric_file(std::string_view text);

// Parse a text. An error lists what is wrong, each with its line; `file` is the name to show. parse_fabric_file() reads
// a text of no known form as ibnetdiscover's dump, whose complaints say what is missing, and makes one node and one link of
// the planes of XDR (fabric/planes.h).
Result<IbFabric> parse_fabric_file(std::string_view text, std::string_view file);
Result<IbFabric> parse_port_list(std::string_view text, std::string_view file);
Result<IbFabric> parse_link_list(std::string_view text, std::string_view file);
Result<IbFabric> parse_fabric_tables(std::string_view text, std::string_view file);
Result<IbFabric> parse_net_dump(std::string_view text, std::string_view file);

// Returns whether the first line of a text is one of ibnetdiscover -p.
bool is_port_list(std::string_view head);
// Returns whether a text has a switch's head and the columns of net_dump below it.
bool is_net_dump(std::string_view head);

}  // namespace railbed
