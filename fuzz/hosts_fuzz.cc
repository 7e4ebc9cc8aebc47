// Lines of /etc/hosts and of cloud-init's templates, which any program on a node may have written, as railbed
// corrects them (settings/hosts_lines.h).
// Rooms: settings
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "fuzz/require.h"
#include "settings/files.h"
#include "settings/hosts_lines.h"

namespace railbed {
namespace {

HostsTable some_table() {
  HostsTable table;
  table.add("gpu1", *IpAddress::parse("10.0.0.1"));
  table.add("gpu2-rail0", *IpAddress::parse("10.1.0.2"));
  table.add("gpu2-rail0", *IpAddress::parse("fd00::2"));
  return table;
}

void correct(const std::string& text) {
  static const auto table = std::make_shared<const HostsTable>(some_table());
  const std::string corrected = table->corrected(text, "gpu1");
  require(table->corrected(corrected, "gpu1") == corrected);
  require(std::ranges::count(corrected, '\n') == std::ranges::count(text, '\n'));
  const DesiredFile file{
      .path = "/etc/hosts", .content = "10.0.0.1 gpu1\n", .block = true, .hosts = {table, "gpu1", {}}};
  const std::string once = content_after(file, text);
  require(content_after(file, once) == once);
}

}  // namespace
}  // namespace railbed

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  railbed::correct(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
