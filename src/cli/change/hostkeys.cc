// railbed hostkeys: shows the nodes' host keys for a person to compare, and adds them to known_hosts.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/shell.h"
#include "base/text.h"
#include "campaign/look/host_keys.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr Document<ClusterHostKeys> kHostkeysDocument{"railbed-hostkeys"};

struct HostkeysCommand {
  std::string cluster;
  std::vector<std::string> nodes;
  std::string expected;
  bool add = false;
  bool json = false;
  ReachOptions reach;
};

constexpr std::string_view kCompare =
    "A key that came over the network alone proves nothing. Compare it with what the node itself says, on its\n"
    "console or through its BMC's serial console:\n"
    "    ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\n";
constexpr std::string_view kNoTerminal =
    "railbed: nothing was added: there is no terminal to ask on whether the keys were compared; --expect FILE\n"
    "compares them with fingerprints from a trusted place, and then no question is asked\n";

std::string state_text(const OfferedKey& key, bool compared) {
  switch (key.state) {
    case HostKeyState::kChanged:
      return fmt::format("CHANGED: {} is known", key.instead_of);
    case HostKeyState::kRevoked:
      return "REVOKED: known_hosts says never to accept it";
    case HostKeyState::kKnown:
      return key.expected == false ? "known, but NOT AS EXPECTED" : "known";
    case HostKeyState::kFurther:
      return key.expected == false ? "NOT AS EXPECTED" : "further: the node is known by another key";
    case HostKeyState::kNew:
      break;
  }
  if (key.expected == false) return "NOT AS EXPECTED";
  if (key.added) return "added";
  if (!compared) return "new";
  return key.expected == true ? "new, as expected" : "new, and the expected keys do not name it";
}

std::string node_text(const NodeHostKeys& node, bool compared) {
  std::string text = node.node;
  if (!node.name.empty() && node.name != node.node)
    text += fmt::format(", in known_hosts {}", printable(node.name));
  text += "\n";
  if (!node.error.empty()) text += fmt::format("    not asked: {}\n", printable(node.error));
  for (const OfferedKey& key : node.keys)
    text += fmt::format("    {:<20} {}  {}\n", key.key.type, key.fingerprint, state_text(key, compared));
  if (!node.note.empty()) text += fmt::format("    note: {}\n", node.note);
  return text;
}

// Returns the warnings about suspect keys, which come first so that no one overlooks them.
std::string alarm(const ClusterHostKeys& look) {
  std::string text;
  for (const NodeHostKeys& node : look.nodes) {
    if (!node.is_suspect()) continue;
    const bool changed = std::ranges::any_of(
        node.keys, [](const OfferedKey& key) { return key.state == HostKeyState::kChanged; });
    text += fmt::format(
        "WARNING: {} offers another host key than {}. It was reinstalled or given new keys, or another "
        "machine answers in its place, which would see all that you send. Nothing was written.\n",
        node.node, changed ? "the one that is known of it" : "the one that it should have");
  }
  return text.empty() ? text : text + "\n";
}

// Returns the commands that remove changed keys, one for each file that may hold them.
std::string how_to_forget(const ClusterHostKeys& look) {
  std::string text;
  for (const NodeHostKeys& node : look.nodes)
    for (const std::string& file : node.files)
      if (std::ranges::any_of(node.keys,
                              [](const OfferedKey& key) { return key.state == HostKeyState::kChanged; }) &&
          access(file.c_str(), F_OK) == 0)
        text += fmt::format("    {}\n", shell_line({"ssh-keygen", "-R", node.name, "-f", file}));
  if (text.empty()) return text;
  return "Once you know why, and have compared the new key, this forgets the old one:\n" + text;
}

std::string twins(const ClusterHostKeys& look) {
  std::map<std::string, std::set<std::string>> nodes;
  for (const NodeHostKeys& node : look.nodes)
    for (const OfferedKey& key : node.keys) nodes[key.fingerprint].insert(node.node);
  std::set<std::string> told;
  for (const auto& [fingerprint, those] : nodes)
    if (those.size() > 1)
      told.insert(fmt::format(
          "{} have one host key, as clones of one disk do: whoever is root on one can pretend to be "
          "the other.\n",
          fmt::join(those, " and ")));
  return fmt::format("{}", fmt::join(told, ""));
}

std::string look_text(const ClusterHostKeys& look, bool compared) {
  std::string text = alarm(look);
  for (const NodeHostKeys& node : look.nodes) text += node_text(node, compared);
  for (const std::string& part : {twins(look), how_to_forget(look)})
    if (!part.empty()) text += "\n" + part;
  return text;
}

// True if the new keys may be added: they are as expected, or the person confirms them after a look.
bool is_allowed(const HostkeysCommand& command) {
  if (!command.expected.empty()) return true;
  if (isatty(STDIN_FILENO) != 1) {
    print_to_stderr("{}", kNoTerminal);
    return false;
  }
  return asks_person("Have you compared these with the consoles?");
}

std::string added_text(const ClusterHostKeys& look) {
  std::map<std::string, std::size_t> counts;
  for (const NodeHostKeys& node : look.nodes)
    for (const OfferedKey& key : node.keys)
      if (key.added) ++counts[node.files.front()];
  std::string text;
  for (const auto& [file, count] : counts)
    text += fmt::format("{} key{} added to {}\n", count, count == 1 ? "" : "s", printable(file));
  return text;
}

int run_look(const HostkeysCommand& command, const Cluster& cluster, const ExpectedKeys* expected) {
  const auto names = chosen_nodes(command.nodes, cluster);
  if (!names) return report(names.error());
  ReachOptions reach = command.reach;
  reach.ssh_config = cluster.ssh_config;
  ClusterHostKeys look = look_at_host_keys(cluster, *names, expected, reach, terminal_caller());
  const bool compared = expected != nullptr;
  if (!command.json) fmt::print("{}", look_text(look, compared));
  const std::size_t addable = look.is_suspect() ? 0 : count_to_add(look, compared);
  if (!command.json && !compared && addable > 0) fmt::print("\n{}", kCompare);
  if (command.add && addable > 0) {
    std::fflush(stdout);
    if (is_allowed(command)) {
      if (const auto added = add_host_keys(look, compared); !added) return report(added.error());
      if (!command.json) fmt::print("\n{}", added_text(look));
    }
  } else if (addable > 0 && !command.json) {
    fmt::print("{}--add puts {} into known_hosts{}.\n", compared ? "\n" : "", addable == 1 ? "it" : "them",
               compared ? "" : ", after a question");
  }
  if (command.json) print_document(kHostkeysDocument, look);
  return look.exit_code();
}

int run_hostkeys(const HostkeysCommand& command) {
  const auto cluster = load_cluster(command.cluster);
  if (!cluster) return report(cluster.error());
  if (command.expected.empty()) return run_look(command, *cluster, nullptr);
  const auto text = read_file(command.expected);
  if (!text) return report({ErrorKind::kBadInput, text.error().text});
  const auto expected = parse_expected_keys(*text, command.expected, *cluster);
  return expected ? run_look(command, *cluster, &*expected) : report(expected.error());
}

}  // namespace

Action declare_hostkeys(CLI::App& app) {
  auto command = std::make_shared<HostkeysCommand>();
  app.add_option("cluster.yaml", command->cluster, "the nodes")->required();
  add_nodes_options(app, command->nodes);
  app.add_option(
         "--expect", command->expected,
         "compare with fingerprints from a trusted place: lines NODE SHA256:… or NODE ssh-ed25519 AAAA…")
      ->type_name("FILE");
  app.add_flag("--add", command->add,
               "add new keys to your known_hosts: those that are as expected, else all, after a question");
  add_json_flag(app, command->json, "print one JSON document", kHostkeysDocument);
  add_connect_options(app, command->reach);
  app.footer(
      "\nAsks each node's sshd for its host keys by ssh-keyscan, as your ssh would find it, and compares them with\n"
      "known_hosts. A key that came over the network alone proves nothing: compare the fingerprints with what\n"
      "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` says on each node's console. A key that is known is never\n"
      "replaced, and nothing is written while any key is not what it should be. Examples:\n"
      "  railbed hostkeys cluster.yaml\n"
      "  railbed hostkeys cluster.yaml --expect from-the-installer.txt --add\n\n"
      "Exit codes: 0 all nodes are known, 1 some are new, 2 a key changed or is not as expected, 3 a node could not\n"
      "be asked.");
  return [command] { return run_hostkeys(*command); };
}

}  // namespace railbed
