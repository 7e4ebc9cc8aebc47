#include "cli/fleet_options.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/wipe.h"
#include "cli/change/ask_password.h"
#include "cli/option_checks.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

// Returns why kubectl cannot take the text after "=", as a path or a name; empty if it can.
std::string kubectl_word(const std::string& text) {
  return !text.empty() && printable(text) == text ? "" : "a name of plain characters";
}

// Restricts an option to the launcher for which it has a meaning.
CLI::Option* of_launcher(CLI::Option* option, CLI::Option* launcher, const char* type = nullptr) {
  option->needs(launcher)->group(kReachGroup);
  if (type != nullptr) option->type_name(type);
  return option;
}

void add_kubernetes_options(CLI::App& app, ReachOptions& options, CLI::Option* launcher) {
  auto& choice = options.kubernetes;
  of_launcher(app.add_option("--namespace", choice.name_space,
                             "of Kubernetes, that railbed's pods are in (default railbed)")
                  ->check([](const std::string& text) {
                    return fleet::is_kubernetes_label(text) ? ""
                                                            : "a namespace: lower-case letters, digits and -";
                  }),
              launcher, "NAME");
  of_launcher(app.add_option("--selector", choice.selector,
                             "labels of railbed's pods (default app.kubernetes.io/name=railbed-agent)")
                  ->check([](const std::string& text) {
                    return fleet::is_kubernetes_selector(text)
                               ? ""
                               : "a label selector, as kubectl takes it: app=railbed";
                  }),
              launcher, "LABELS");
  of_launcher(app.add_option("--context", choice.context, "of kubectl's file; else the current one")
                  ->check(kubectl_word),
              launcher, "NAME");
  of_launcher(
      app.add_option("--kubeconfig", choice.kubeconfig, "kubectl's file; else its own")->check(kubectl_word),
      launcher, "FILE");
}

std::string list_of_nodes(const std::string& text) {
  const auto names = named_hosts(text);
  return names ? std::string() : names.error().text;
}

std::string slurm_name(const std::string& text) {
  return fleet::is_slurm_name(text) ? "" : "a name, as sinfo shows it";
}

}  // namespace

void add_connect_options(CLI::App& app, ReachOptions& options) {
  app.add_option("--parallel", options.parallelism, "nodes worked on at once")
      ->check(between(1, 1024))
      ->capture_default_str()
      ->group(kReachGroup);
  app.add_option_function<int>(
         "--connect-timeout",
         [&options](int seconds) {
           options.connect_deadline = std::chrono::seconds(seconds);
           options.start_deadline = std::chrono::seconds(seconds + 5);
         },
         "seconds that a node may take to greet us (default 10)")
      ->check(between(1, 600))
      ->type_name("SECONDS")
      ->group(kReachGroup);
  app.add_option_function<std::vector<std::string>>(
         "--ssh-option",
         [&options](const std::vector<std::string>& values) {
           for (const std::string& value : values)
             options.ssh_options.insert(options.ssh_options.end(), {"-o", value});
         },
         "an option for ssh as in ssh_config(5), e.g. Port=2222; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(kReachGroup);
}

void add_fleet_options(CLI::App& app, ReachOptions& options) {
  add_connect_options(app, options);
  options.share_connections = true;
  options.agent_hashes = fleet::default_hashes_path();
  app.add_flag_callback(
         "--no-share", [&options] { options.share_connections = false; },
         "end each connection with the command; else ssh keeps it for 3 minutes, for the next command")
      ->group(kReachGroup);
  app.add_option_function<std::vector<std::string>>(
         "--agent-binary",
         [&options](const std::vector<std::string>& values) {
           for (const std::string& value : values) {
             const std::size_t sign = value.find('=');
             if (sign == std::string::npos)
               throw CLI::ValidationError("--agent-binary", "expected ARCH=PATH");
             options.agent_binaries[value.substr(0, sign)] = value.substr(sign + 1);
           }
         },
         "railbed built for nodes of another architecture, e.g. aarch64=railbed-arm64; may be repeated")
      ->type_name("ARCH=PATH")
      ->allow_extra_args(false)
      ->group(kReachGroup);
}

void add_launcher_options(CLI::App& app, ReachOptions& options) {
  static const std::map<std::string, fleet::Launcher> kLaunchers{
      {"ssh", fleet::Launcher::kSsh},
      {"slurm", fleet::Launcher::kSlurm},
      {"kubernetes", fleet::Launcher::kKubernetes}};
  auto* launcher =
      app.add_option_function<std::string>(
             "--launcher", [&options](const std::string& word) { options.launcher = kLaunchers.at(word); },
             "what starts the agents: ssh (default); slurm: steps of a job (docs/how-to/slurm.md); kubernetes: "
             "kubectl exec in pods of a DaemonSet (docs/how-to/kubernetes.md)")
          ->check(one_of({"ssh", "slurm", "kubernetes"}))
          ->option_text("NAME")
          ->group(kReachGroup);
  auto* job = of_launcher(
      app.add_option("--slurm-job", options.slurm.job,
                     "steps of this job; else of the present one, or of an allocation that ends with the "
                     "command")
          ->check([](const std::string& text) {
            return is_digits(text) ? "" : "the number of a job, as squeue shows it";
          }),
      launcher, "NUMBER");
  of_launcher(app.add_option("--partition", options.slurm.partition, "of Slurm's, that the nodes are in")
                  ->check(slurm_name)
                  ->excludes(job),
              launcher, "NAME");
  of_launcher(app.add_option_function<int>(
                     "--slurm-wait",
                     [&options](int seconds) { options.slurm.patience = std::chrono::seconds(seconds); },
                     "seconds to wait for an allocation (default 60)")
                  ->check(between(1, 86'400)),
              launcher, "SECONDS");
  of_launcher(app.add_flag("--overlap", options.slurm.overlap,
                           "on nodes where other jobs run, too; else those are named and left alone"),
              launcher);
  add_kubernetes_options(app, options, launcher);
}

void add_nodelist_option(CLI::App& app, ReachOptions& options) {
  app.add_option("--nodes,--nodelist", options.nodelist, "these nodes alone: gpu[01-16],gpu20")
      ->check(list_of_nodes)
      ->type_name("HOSTLIST");
}

void add_node_arguments(CLI::App& app, ReachOptions& options) {
  add_nodelist_option(app, options);
  app.add_option_function<std::vector<std::string>>(
         "NODE",
         [&options](const std::vector<std::string>& lists) {
           for (const std::string& list : lists)
             options.nodelist += (options.nodelist.empty() ? "" : ",") + list;
         },
         "these nodes alone: names, or lists like gpu[01-08],nas")
      ->check(list_of_nodes)
      ->excludes("--nodes");
}

std::vector<std::string> nodes_in(const ReachOptions& options) {
  return options.nodelist.empty() ? std::vector<std::string>() : std::vector{options.nodelist};
}

void add_nodes_options(CLI::App& app, std::vector<std::string>& nodes) {
  auto* argument = app.add_option("NODE", nodes, "these nodes alone: names, or lists like gpu[01-08],nas");
  app.add_option_function<std::string>(
         "--nodes", [&nodes](const std::string& list) { nodes = {list}; }, "the same as NODE")
      ->type_name("HOSTLIST")
      ->excludes(argument);
}

void add_root_options(CLI::App& app, ReachOptions& options) {
  options.as_root = true;
  app.add_flag_callback(
         "-K,--ask-sudo-password",
         [&options] {
           auto password = ask_password("Password for sudo on the nodes: ");
           if (!password) throw CLI::ValidationError("--ask-sudo-password", password.error().text);
           options.sudo_password = *password;
           wipe(*password);
         },
         "ask once for the password that sudo wants on the nodes; else sudo must want none")
      ->group(kReachGroup);
}

}  // namespace railbed
