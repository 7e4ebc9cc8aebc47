#include "cli/fleet_options.h"

#include <CLI/CLI.hpp>

#include "base/wipe.h"
#include "cli/ask_password.h"
#include "cli/option_checks.h"

namespace railbed {

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
