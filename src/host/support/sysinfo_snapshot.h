// Mellanox's sysinfo-snapshot: an archive with a page in HTML of the outputs of commands and copies of files, and with
// further outputs in files beside it.
#pragma once

#include <string>
#include <string_view>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// Returns true if a text begins as the script's page does.
bool is_sysinfo_snapshot(std::string_view text);
// Reads the page: adds copies to `report` and the outputs of commands to `outputs`.
void read_sysinfo_snapshot(std::string_view text, ReportTree& report, Outputs& outputs);
// Adds an output of a file beside the page. The script removes the dashes from its name: "lspci_vvvxxxxx".
void add_beside_sysinfo_snapshot(Output output, Outputs& outputs);

}  // namespace railbed
