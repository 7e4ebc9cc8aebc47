// The options of every command that reaches nodes, declared in one place.
#pragma once

#include "campaign/reach.h"

namespace CLI {
class App;
}

namespace railbed {

// The group of these options in --help: they say how nodes are reached, not what is done there.
inline constexpr const char* kReachGroup = "Reaching the nodes";

// --parallel, --connect-timeout, --ssh-option, --no-share and --agent-binary, bound to `options`, which must
// outlive the parsing. A cluster's ssh_config is the caller's to set.
void add_fleet_options(CLI::App& app, ReachOptions& options);

// Of these the ones that say how ssh finds a node, for a command that starts no agent: --parallel,
// --connect-timeout and --ssh-option.
void add_connect_options(CLI::App& app, ReachOptions& options);

// For a command whose agents may be steps of a Slurm job, or in Kubernetes' pods: --launcher; --slurm-job,
// --partition, --slurm-wait and --overlap; --namespace, --selector, --context and --kubeconfig.
void add_launcher_options(CLI::App& app, ReachOptions& options);
// … and whose nodes are those of a cluster.yaml or a scheduler's: --nodelist, too.
void add_nodelist_option(CLI::App& app, ReachOptions& options);

// For a command whose agents run as root: asks for that, and adds --ask-sudo-password (-K), which asks a
// person while the command line is read. The command should wipe() the password when its last fleet was made.
void add_root_options(CLI::App& app, ReachOptions& options);

}  // namespace railbed
