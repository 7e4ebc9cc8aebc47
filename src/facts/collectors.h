// The parts of collect_system(), timed one by one by collect_facts().
#pragma once

#include "facts/system.h"

namespace railbed {

Os collect_os(Host& host);
Kernel collect_kernel(Host& host);
// The lines of a kernel configuration that collect_kernel() looks at.
std::string used_config(std::string_view text);
Cpu collect_cpu(Host& host);
// Service limits are read from the main process of those services that run.
Memory collect_memory(Host& host, const Reading<std::vector<Service>>& services);
Storage collect_storage(Host& host);
std::map<std::string, Reading<std::string>> collect_sysctl(Host& host);
Reading<std::vector<Service>> collect_services(Host& host);

}  // namespace railbed
