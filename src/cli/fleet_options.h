// The options of every command that reaches nodes, declared in one place.
#pragma once

#include <string>
#include <vector>

#include "campaign/reach.h"

namespace CLI {
class App;
}

namespace railbed {

// The group of these options in --help: they determine how nodes are reached, not what is done there.
inline constexpr const char* kReachGroup = "Reaching the nodes";

// Adds --parallel, --connect-timeout, --ssh-option, --no-share and --agent-binary, bound to `options`, which
// must outlive the parsing. The caller has to set a cluster's ssh_config.
void add_fleet_options(CLI::App& app, ReachOptions& options);

// Adds only the options by which ssh finds a node, for a command that starts no agent: --parallel,
// --connect-timeout and --ssh-option.
void add_connect_options(CLI::App& app, ReachOptions& options);

// Adds options for a command whose agents may be steps of a Slurm job, or in Kubernetes' pods: --launcher;
// --slurm-job, --partition, --slurm-wait and --overlap; --namespace, --selector, --context and --kubeconfig.
void add_launcher_options(CLI::App& app, ReachOptions& options);
// Adds --nodes, or --nodelist as Slurm names it, for a command whose nodes come from a cluster.yaml or a scheduler.
void add_nodelist_option(CLI::App& app, ReachOptions& options);
// Adds the same, and NODE… behind cluster.yaml.
void add_node_arguments(CLI::App& app, ReachOptions& options);

// Returns the nodes as lists of named_hosts(); empty: all.
std::vector<std::string> nodes_in(const ReachOptions& options);

// Adds NODE… behind cluster.yaml and --nodes, for a command that keeps its nodes in `nodes`, as lists of
// named_hosts() (inventory/hostlist.h). `nodes` must outlive the parsing.
void add_nodes_options(CLI::App& app, std::vector<std::string>& nodes);

// Makes the agents run as root, and adds --ask-sudo-password (-K), which prompts for the password while the
// command line is parsed. The command should wipe() the password after its last fleet was made.
void add_root_options(CLI::App& app, ReachOptions& options);

}  // namespace railbed
