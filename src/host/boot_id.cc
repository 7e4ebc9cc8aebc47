#include "host/boot_id.h"

namespace railbed {

Reading<std::string> read_boot_id(Host& host) { return host.read_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace railbed
