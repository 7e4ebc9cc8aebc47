#include "cli/bmc/bmc_options.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"
#include "base/wipe.h"
#include "cli/change/ask_password.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr const char* kPasswordVariable = "RAILBED_BMC_PASSWORD";

// Returns the password and removes it from the environment, so that no child gets it.
std::string take_from_environment() {
  const char* value = std::getenv(kPasswordVariable);
  std::string password = value == nullptr ? "" : value;
  unsetenv(kPasswordVariable);
  return password;
}

Result<BmcLogins> logins_from_file(const std::string& path, const Cluster& cluster) {
  ASSIGN_OR_RETURN(auto text, read_secret_file(path));
  auto logins = BmcLogins::parse(text, path, cluster);
  wipe(text);
  return logins;
}

Result<BmcLogins> find_logins(const BmcCommand& command, const Cluster& cluster) {
  std::string password = take_from_environment();
  const bool from_file =
      !command.password_file.empty() || (password.empty() && !cluster.bmc.password_file.empty());
  if (!from_file && cluster.bmc.user.empty())
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{} names no user of the BMCs: say `bmc: {{user: …}}` there, or --user", cluster.file));
  if (!command.password_file.empty()) return logins_from_file(command.password_file, cluster);
  if (password.empty()) {
    if (!cluster.bmc.password_file.empty()) return logins_from_file(cluster.bmc.password_file, cluster);
    auto typed = ask_password(fmt::format("Password of {} at the BMCs: ", cluster.bmc.user));
    if (!typed)
      return fail(
          ErrorKind::kBadInput,
          fmt::format("the BMCs' password is not known: name a file of mode 0600 by --password-file or in "
                      "{} as `bmc: {{password_file: …}}`, or set {}",
                      cluster.file, kPasswordVariable));
    password = std::move(*typed);
  }
  auto logins = BmcLogins::of_all(cluster, cluster.bmc.user, password);
  wipe(password);
  return logins;
}

// Returns the folder for FreeIPMI's cache of sensor descriptions, which a slow BMC takes many seconds to
// send; empty if there is no such folder.
std::string sensor_cache() {
  std::filesystem::path folder = cache_folder();
  if (folder.empty()) return "";
  folder /= "sensors";
  // FreeIPMI opens files in it by path, so no other user may be able to change one.
  return open_folder_at(folder, Strangers::kNothing, 0700) ? folder.string() : "";
}

Result<BmcCertificates> certificates_of(const Cluster& cluster) {
  if (cluster.bmc.certificates.empty()) return BmcCertificates();
  constexpr std::size_t kLargest = 1 << 20;
  const auto text = read_file(cluster.bmc.certificates, kLargest);
  if (!text) return fail(ErrorKind::kBadInput, text.error().text);
  return BmcCertificates::parse(*text, cluster.bmc.certificates, cluster);
}

Result<Names> chosen_bmcs(const BmcCommand& command, const Cluster& cluster) {
  if (!command.nodes.empty()) return chosen_nodes(command.nodes, cluster);
  Names names;
  for (const Node& node : cluster.nodes)
    if (node.bmc) names.insert(node.name);
  if (names.empty())
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{} gives no node the address of its BMC: say `bmc: ADDRESS` beside the node's name",
                    cluster.file));
  return names;
}

}  // namespace

void add_bmc_options(CLI::App& app, BmcCommand& command) {
  app.add_option("cluster.yaml", command.cluster, "its nodes name their BMCs")->required();
  add_nodes_options(app, command.nodes);
  app.add_option("--user", command.user, "user at the BMCs, instead of cluster.yaml's")
      ->type_name("USER")
      ->group(kReachGroup);
  app.add_option("--password-file", command.password_file,
                 "one password, or lines NODES USER PASSWORD; its mode must be 0600")
      ->type_name("FILE")
      ->group(kReachGroup);
  app.add_option("--timeout", command.silence_seconds, "give a BMC up that says nothing for so many seconds")
      ->capture_default_str()
      ->check(between(1, 600))
      ->group(kReachGroup);
  app.add_option("--parallel", command.parallelism, "so many BMCs at once")
      ->capture_default_str()
      ->check(between(1, 1024))
      ->group(kReachGroup);
  add_json_flag(app, command.json, "print one JSON document", kBmcDocument, kBmcChangesDocument);
}

Result<BmcPlaces> open_places_unknown(const BmcCommand& command) {
  BmcPlaces places;
  ASSIGN_OR_RETURN(auto cluster, load_cluster(command.cluster));
  places.cluster = std::move(cluster);
  if (!command.user.empty()) places.cluster.bmc.user = command.user;
  ASSIGN_OR_RETURN(auto names, chosen_bmcs(command, places.cluster));
  places.names = std::move(names);
  ASSIGN_OR_RETURN(auto certificates, certificates_of(places.cluster));
  places.reach.certificates = std::move(certificates);
  places.reach.parallelism = command.parallelism;
  places.reach.options.silence = std::chrono::seconds(command.silence_seconds);
  places.reach.options.cache = sensor_cache();
  places.reach.options.stop = interrupted();
  return places;
}

Result<BmcPlaces> open_places(const BmcCommand& command) {
  auto places = open_places_unknown(command);
  if (!places) return places;
  ASSIGN_OR_RETURN(auto logins, find_logins(command, places->cluster));
  places->reach.logins = std::move(logins);
  return places;
}

std::map<std::string, BmcFacts> look_at_all(const BmcPlaces& places) {
  std::map<std::string, BmcFacts> all;
  for (BmcFacts& facts :
       look_at_bmcs(places.cluster, places.names, kAllBmcQuestions, places.reach, terminal_caller())) {
    std::string node = facts.node;
    all.emplace(std::move(node), std::move(facts));
  }
  return all;
}

int exit_code_of(const std::vector<BmcChange>& changes) {
  return std::ranges::all_of(changes, [](const BmcChange& change) { return change.error.empty(); })
             ? kExitClean
             : kExitCouldNotLook;
}

std::string answers_text(const std::vector<std::pair<std::string, std::string>>& answers) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> nodes;
  for (const auto& [node, answer] : answers) {
    if (!nodes.contains(answer)) order.push_back(answer);
    nodes[answer].push_back(node);
  }
  std::size_t width = 0;
  for (auto& [answer, those] : nodes) {
    those = {fold_hostlist(those)};
    width = std::max(width, those.front().size());
  }
  std::string text;
  for (const std::string& answer : order)
    text += fmt::format("{:<{}}  {}\n", nodes[answer].front(), width, answer);
  return text;
}

int print_changes(const std::vector<BmcChange>& changes, std::string_view done, bool json) {
  if (json) {
    print_document(kBmcChangesDocument, changes);
    return exit_code_of(changes);
  }
  std::vector<std::pair<std::string, std::string>> answers;
  for (const BmcChange& change : changes)
    answers.emplace_back(change.node,
                         change.error.empty() ? std::string(done) : "FAILED: " + printable(change.error));
  fmt::print("{}", answers_text(answers));
  return exit_code_of(changes);
}

bool may_touch(const Names& names, std::string_view what, bool yes) {
  if (yes || names.size() <= 1) return true;
  if (isatty(STDIN_FILENO) != 1) {
    print_to_stderr("railbed: {} {} nodes: there is no terminal to ask on; --yes says that it is meant\n",
                    what, names.size());
    return false;
  }
  print_to_stderr("{} {} nodes: {}\n", what, names.size(),
                  printable(fold_hostlist(std::vector<std::string>(names.begin(), names.end()))));
  return asks_person("Is that meant?");
}

}  // namespace railbed
