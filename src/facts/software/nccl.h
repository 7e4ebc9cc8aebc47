// NCCL's inputs on this node: its configuration files, the environment of logins and services, and the
// library itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;
struct Service;

// A variable that NCCL, UCX or CUDA reads. No other variable of a file or an environment is kept.
struct NcclVariable {
  std::string name;   // NCCL_IB_HCA
  std::string value;  // as NCCL gets it: NCCL's own files keep quotes and spaces, shells and systemd do not
  std::string from;   // "/etc/nccl.conf:3", "environment", "slurmd.service"
  FIELDS(NcclVariable, name, value, from);
  bool operator==(const NcclVariable&) const = default;
};

// A service that starts jobs, and the variables that it passes to them.
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
  // The file that `ldconfig -p` lists; for a plugin with a path that path, resolved. If absent, the plugin
  // can only be found through LD_LIBRARY_PATH.
  Reading<std::string> file;
  FIELDS(NcclPlugin, name, file);
};

// All places that set NCCL's variables. In NCCL's own files the first line with a name wins and nothing
// overrides the environment (setenv without overwriting, NCCL src/misc/param.cc); in shells and units the
// last one wins.
struct Nccl {
  Reading<std::vector<NcclVariable>> system_file;  // /etc/nccl.conf
  Reading<std::vector<NcclVariable>> user_file;    // $NCCL_CONF_FILE (2.23), else ~/.nccl.conf
  Reading<std::vector<NcclVariable>> root_file;    // /root/.nccl.conf: read by jobs that root starts
  // Lines `export NCCL_…` of /etc/profile.d/*.sh, /etc/environment.
  Reading<std::vector<NcclVariable>> profile;
  Reading<std::vector<NcclVariable>> environment;  // this process's own
  std::vector<NcclService> services;               // slurmd, containerd, docker and kubelet, if they exist
  // libnccl.so.2 in the folders of distributions and of NVIDIA's packages. A program may bring another
  // (PyTorch does).
  Reading<NcclFile> library;
  std::vector<NcclPlugin> net_plugins;  // the plugins that NCCL_NET_PLUGIN names in any of these places
  FIELDS(Nccl, system_file, user_file, root_file, profile, environment, services, library, net_plugins);
};

// Returns true for names whose values are kept: NCCL_*, UCX_*, CUDA_VISIBLE_DEVICES.
bool is_nccl_name(std::string_view name);

// Collects all of this. `services` are the services of the node; systemctl is queried for no others.
Nccl collect_nccl(Host& host, const Reading<std::vector<Service>>& services);

// Returns the variables that a program started from a login shell gets, in falling precedence: the
// environment, the profile, the user's file, /etc/nccl.conf. The pointers point into `nccl`.
std::vector<const NcclVariable*> by_precedence(const Nccl& nccl);
// Returns the variable that takes effect; null if nothing sets it.
const NcclVariable* effective(const Nccl& nccl, std::string_view name);
// Returns the first of these places that could not be examined, as in a support report that lacks it; null if
// all were. A variable that nothing sets may be set there.
const Reading<std::vector<NcclVariable>>* untold(const Nccl& nccl);

// Returns true for a value that looks like a token: at least 20 characters, letters of both cases and digits,
// and no "/,.:^=".
bool looks_secret(std::string_view value);
// Returns a file with all lines emptied that set none of these variables, so that line numbers stay. Masks
// comments behind values, and values that look like secrets.
std::string only_nccl_lines(std::string_view text);
// Returns the output of `systemctl show` about units' environments without other variables. Masks values that
// look like secrets.
std::string only_nccl_environment(std::string_view output);
inline constexpr std::string_view kShowEnvironment =
    "systemctl show --property=Id,Environment,EnvironmentFiles";

}  // namespace railbed
