#include "verify/rule.h"

#include <algorithm>

#include "verify/areas.h"

namespace railbed {

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const auto& area :
         {node_rules(),         tuning_rules(),       system_rules(),     upkeep_rules(),
          after_reboot_rules(), bmc_rules(),          console_rules(),    reach_rules(),
          disk_rules(),         module_rules(),       limit_rules(),      link_rules(),
          vlan_rules(),         shaper_rules(),       lldp_rules(),       address_rules(),
          gid_rules(),          port_rules(),         signal_rules(),     qos_rules(),
          fabric_rules(),       counter_rules(),      load_rules(),       load_path_rules(),
          pcie_rules(),         pcie_setting_rules(), interrupt_rules(),  gpu_rules(),
          gpu_module_rules(),   gpu_kind_rules(),     gpu_driver_rules(), gpu_health_rules(),
          gpu_mode_rules(),     gpu_link_rules(),     gpu_load_rules(),   gpudirect_rules(),
          gds_rules(),          optics_rules(),       job_rules(),        nccl_rules(),
          nccl_choice_rules(),  pytorch_rules(),      runtime_rules(),    container_rules(),
          site_rules(),         storage_rules(),      toolkit_rules(),    log_gpu_rules(),
          log_device_rules(),   log_host_rules(),     fleet_rules(),      alike_rules(),
          measured_rules(),     compared_rules(),     all_rails_rules()})
      all.insert(all.end(), area.begin(), area.end());
    return all;
  }();
  return rules;
}

const Rule* find_rule(std::string_view id, std::span<const Rule> rules) {
  const auto found = std::ranges::find(rules, id, &Rule::id);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace railbed
