// What NCCL will read on this node: its configuration files and environment variables.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

struct NcclVariable {
  std::string name;   // NCCL_IB_HCA
  std::string value;  // quotes removed
  std::string from;   // "/etc/nccl.conf:3", "environment"
  static constexpr auto fields() {
    return std::tuple{field("name", &NcclVariable::name), field("value", &NcclVariable::value),
                      field("from", &NcclVariable::from)};
  }
  bool operator==(const NcclVariable&) const = default;
};

struct Nccl {
  Reading<std::vector<NcclVariable>> system_file;  // /etc/nccl.conf
  Reading<std::vector<NcclVariable>> user_file;    // $NCCL_CONF_FILE, else ~/.nccl.conf
  Reading<std::vector<NcclVariable>>
      profile;  // `export NCCL_…` lines of /etc/profile.d/*.sh, /etc/environment
  Reading<std::vector<NcclVariable>> environment;  // this process's own
  static constexpr auto fields() {
    return std::tuple{field("system_file", &Nccl::system_file), field("user_file", &Nccl::user_file),
                      field("profile", &Nccl::profile), field("environment", &Nccl::environment)};
  }
};

Nccl collect_nccl(Host& host);

// The value NCCL would use in a login shell: the environment beats profile, profile beats the user's file,
// which beats /etc/nccl.conf. Null when nothing sets it.
const NcclVariable* effective(const Nccl& nccl, std::string_view name);

}  // namespace railbed
