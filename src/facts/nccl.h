// What NCCL will read on this node: its configuration files, the environment of logins and services, and
// the library itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;
struct Service;

// A variable that NCCL, UCX or CUDA reads; nothing else of a file or an environment is kept.
struct NcclVariable {
  std::string name;   // NCCL_IB_HCA
  std::string value;  // as NCCL gets it: its own files keep quotes and spaces, shells and systemd do not
  std::string from;   // "/etc/nccl.conf:3", "environment", "slurmd.service"
  FIELDS(NcclVariable, name, value, from);
  bool operator==(const NcclVariable&) const = default;
};

// A service that starts jobs, and what it hands to them.
struct NcclService {
  std::string name;  // slurmd
  // Environment= and the files of EnvironmentFile= (`systemctl show`), in the order in which they apply.
  Reading<std::vector<NcclVariable>> variables;
  FIELDS(NcclService, name, variables);
};

struct NcclFile {
  std::string path;     // /usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9
  std::string version;  // 2.28.9, from the file's name
  FIELDS(NcclFile, path, version);
};

// A network plugin that a variable names: "ofi", or a file.
struct NcclPlugin {
  std::string name;
  // By `ldconfig -p`, else by its path. Absent: it would have to come by LD_LIBRARY_PATH.
  Reading<std::string> file;
  FIELDS(NcclPlugin, name, file);
};

// In NCCL's own files the first line with a name wins and nothing overrides the environment (setenv without
// overwriting, NCCL src/misc/param.cc); in shells and units the last one wins.
struct Nccl {
  Reading<std::vector<NcclVariable>> system_file;  // /etc/nccl.conf
  Reading<std::vector<NcclVariable>> user_file;    // $NCCL_CONF_FILE (2.23), else ~/.nccl.conf
  Reading<std::vector<NcclVariable>> root_file;    // /root/.nccl.conf: what jobs started by root read
  Reading<std::vector<NcclVariable>>
      profile;  // `export NCCL_…` lines of /etc/profile.d/*.sh, /etc/environment
  Reading<std::vector<NcclVariable>> environment;  // this process's own
  std::vector<NcclService> services;               // of slurmd, containerd, docker, kubelet those that exist
  // Where distributions and NVIDIA's packages put libnccl.so.2; a program may bring another (PyTorch does).
  Reading<NcclFile> library;
  std::vector<NcclPlugin> net_plugins;  // of NCCL_NET_PLUGIN, wherever it is set
  FIELDS(Nccl, system_file, user_file, root_file, profile, environment, services, library, net_plugins);
};

// True for names whose values are kept: NCCL_*, UCX_*, CUDA_VISIBLE_DEVICES.
bool is_nccl_name(std::string_view name);

// `services` are those of the node; of others systemctl is not asked.
Nccl collect_nccl(Host& host, const Reading<std::vector<Service>>& services);

// What a program started from a login shell gets, the settings that win first: the environment, the profile,
// the user's file, /etc/nccl.conf. Points into `nccl`.
std::vector<const NcclVariable*> by_precedence(const Nccl& nccl);
const NcclVariable* effective(const Nccl& nccl, std::string_view name);  // null: nothing sets it
// A place of settings that is not told of, as in a support report: what sets nothing may be set there. Null:
// none.
const Reading<std::vector<NcclVariable>>* untold(const Nccl& nccl);

// A value that looks like a token: long, and letters of both cases with digits between.
bool looks_secret(std::string_view value);
// A file with the lines emptied that set none of these variables, so that line numbers stay.
std::string only_nccl_lines(std::string_view text);
// The output of `systemctl show` about units' environments, without the other variables.
std::string only_nccl_environment(std::string_view output);
inline constexpr std::string_view kShowEnvironment =
    "systemctl show --property=Id,Environment,EnvironmentFiles";

}  // namespace railbed
