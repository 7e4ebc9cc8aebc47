#include "fleet/fleet_context.h"

#include "base/wipe.h"
#include "fleet/kubernetes_launcher.h"
#include "fleet/slurm_launcher.h"

namespace railbed::fleet {
namespace {

std::unique_ptr<AgentLauncher> make_launcher(const FleetOptions& options, std::vector<std::string> nodes) {
  switch (options.launcher) {
    case Launcher::kSsh:
      return ssh_launcher(options);
    case Launcher::kSlurm:
      return slurm_launcher(options.slurm, std::move(nodes), environment_here());
    case Launcher::kKubernetes:
      return kubernetes_launcher(options.kubernetes, !options.nodelist.empty(), std::move(nodes));
  }
  return nullptr;
}

// A scheduler's nodes often have the whole program already, on a shared file system or in their image. The
// hash shows whether it is the same.
AgentBinaries::Push what_is_pushed(Launcher launcher) {
  return launcher == Launcher::kSsh ? AgentBinaries::Push::kPackedAgent : AgentBinaries::Push::kWhole;
}

}  // namespace

FleetContext::FleetContext(FleetOptions given, std::vector<std::string> nodes)
    : options(std::move(given)),
      binaries(options.binary, options.agent_binaries, options.agent_hashes,
               what_is_pushed(options.launcher)),
      local_(local_launcher()),
      remote_(make_launcher(options, std::move(nodes))) {}

FleetContext::~FleetContext() { wipe(options.sudo_password); }

}  // namespace railbed::fleet
