#include "fleet/agent_launcher.h"

#include <fmt/format.h>

namespace railbed::fleet {
namespace {

class LocalLauncher final : public AgentLauncher {
 public:
  Result<std::vector<std::string>> words(const Target&, const std::string& script, const Waker&,
                                         const std::stop_token&) override {
    return std::vector<std::string>{"/bin/sh", "-c", script};
  }
};

class SshLauncher final : public AgentLauncher {
 public:
  explicit SshLauncher(const FleetOptions& options) : options_(options) {}

  Result<std::vector<std::string>> words(const Target& target, const std::string& script, const Waker&,
                                         const std::stop_token&) override {
    return ssh_words(target, options_, script);
  }
  std::string_view when_missing() const override {
    return "nodes are reached by OpenSSH's client (Debian and Ubuntu: openssh-client, RHEL: openssh-clients)";
  }

 private:
  const FleetOptions& options_;
};

}  // namespace

std::unique_ptr<AgentLauncher> local_launcher() { return std::make_unique<LocalLauncher>(); }

std::unique_ptr<AgentLauncher> ssh_launcher(const FleetOptions& options) {
  return std::make_unique<SshLauncher>(options);
}

std::vector<std::string> ssh_words(const Target& target, const FleetOptions& options,
                                   const std::string& command) {
  std::vector<std::string> words = {options.ssh_program};
  if (!options.ssh_config.empty()) words.insert(words.end(), {"-F", options.ssh_config});
  // The user's options come first, because ssh keeps the first value of an option (ssh_config(5)).
  words.insert(words.end(), options.ssh_options.begin(), options.ssh_options.end());
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.connect_deadline).count();
  for (const std::string& option :
       {std::string("BatchMode=yes"), fmt::format("ConnectTimeout={}", seconds),
        std::string("ServerAliveInterval=5"), std::string("ServerAliveCountMax=3"),
        // Options for interactive logins must not interfere with the command.
        std::string("RemoteCommand=none"), std::string("RequestTTY=no"),
        std::string("ClearAllForwardings=yes"), std::string("ForwardAgent=no"), std::string("ForwardX11=no"),
        std::string("PermitLocalCommand=no"),
        // ssh logs the reasons of failures at this level.
        std::string("LogLevel=INFO")})
    words.insert(words.end(), {"-o", option});
  // Uses an existing shared connection, but creates none.
  if (!options.share_connections) words.insert(words.end(), {"-o", "ControlMaster=no"});
  words.insert(words.end(), {"--", target.destination, command});
  return words;
}

}  // namespace railbed::fleet
