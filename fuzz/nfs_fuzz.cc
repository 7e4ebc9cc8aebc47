// Tables of exports and of mounts hold names that users chose, and servers' addresses.
//
// Rooms: facts host nvidia os base results
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/nfs.h"

namespace {

bool is_clean(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const NfsExport& line : parse_export_table(text)) {
    if (!is_clean(line.path) || !is_clean(line.client) || line.client.empty() || line.options.size() > 64)
      std::abort();
    for (const std::string& option : line.options)
      if (!is_clean(option)) std::abort();
  }
  for (const NfsListener& listener : parse_nfs_ports(text))
    if (listener.port < 0 || listener.port > 65535 || !is_clean(listener.transport)) std::abort();
  auto mounts = parse_nfs_mounts(text);
  const std::size_t count = mounts.size();
  add_nfs_connections(text, mounts);
  if (mounts.size() != count || count > 4096) std::abort();
  for (const NfsMount& mount : mounts)
    if (!is_clean(mount.point) || !is_clean(mount.source) || !is_clean(mount.protocol) ||
        !is_clean(mount.address) || mount.connections.size() > 64)
      std::abort();
  return 0;
}
