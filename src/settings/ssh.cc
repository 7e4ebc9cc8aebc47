// Keys that may log in, one host key for all names of a node, and the host keys that nodes know.
#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/wording.h"
#include "settings/files.h"
#include "settings/known_hosts.h"
#include "settings/render.h"

namespace railbed {
namespace {

// The keys are in a folder that belongs to root rather than in the user's home, where a user could make root
// write any file through a symbolic link. The files that sshd reads by default stay first (sshd_config(5),
// AuthorizedKeysFile), and the block applies to this user only, so no one loses access.
std::string accept_keys_of(std::string_view user) {
  return fmt::format(
      "{}Match User {}\n"
      "    AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 /etc/ssh/authorized_keys.d/%u\n",
      kFileMark, user);
}

void add_keys(const Target& target, std::vector<Setting>& settings) {
  const auto& user = target.configure().user;
  const auto& keys = target.configure().authorized_keys;
  if (!user || !keys || keys->empty()) return;
  Setting setting{
      .section = Section::kSsh,
      .name = "ssh/keys",
      .title = fmt::format("{} key{} may log in as {}", keys->size(), keys->size() == 1 ? "" : "s", *user),
      .reason =
          "one list of keys for all nodes, without a password on the way; keys that the user "
          "has already stay valid",
      .risk = Risk::kAccess,
      .needs = {{.what = fmt::format("sshd takes these keys for {}", *user)}}};
  DesiredFile file{.path = "/etc/ssh/authorized_keys.d/" + *user, .content = std::string(kFileMark)};
  for (const std::string& key : *keys) file.content += key + "\n";
  setting.files = {std::move(file),
                   {.path = "/etc/ssh/sshd_config.d/90-railbed.conf", .content = accept_keys_of(*user)}};
  setting.steps = {{StepKind::kReloadSshd, {}}};
  setting.notes = {
      fmt::format("The user {} has to be there: `{}`. railbed makes no users on a running node; `railbed "
                  "autoinstall` does on a bare one.",
                  *user, command("id {}", *user).text()),
      fmt::format(
          "Where sshd reads this user's keys from another place by now, name that place in a block of "
          "your own that sorts before: `{}` tells.",
          command("sshd -T -C user={},host=localhost,addr=127.0.0.1", *user).text())};
  settings.push_back(std::move(setting));
}

void add_client(const Target& target, std::vector<Setting>& settings) {
  const Cluster& cluster = target.cluster();
  if (!target.configure().user || cluster.nodes.size() < 2) return;
  DesiredFile file{.path = "/etc/ssh/ssh_config.d/90-railbed.conf", .content = target.wide.host_key_aliases};
  settings.push_back(
      {.section = Section::kSsh,
       .name = "ssh/client",
       .title = fmt::format("one host key each for {}", counted(cluster.nodes.size(), "node")),
       .reason =
           "a node is the same one by each of its names: its host key is confirmed once, and then holds "
           "for every rail. To switch the check off (StrictHostKeyChecking no) would let anybody on the "
           "way be that node",
       .needs = {{.what = "ssh knows a node's names as one"}},
       .files = {std::move(file)},
       .notes = {
           "`railbed hostkeys cluster.yaml` shows the nodes' host keys for comparing, and adds them to your "
           "own known_hosts."}});
}

constexpr std::size_t kMostNodesTold = 8;

// Returns "gpu2, gpu3 and 5 more".
std::string some_of(const std::vector<std::string>& nodes) {
  const std::size_t told = std::min(nodes.size(), kMostNodesTold);
  std::string text =
      fmt::format("{}", fmt::join(nodes.begin(), nodes.begin() + static_cast<long>(told), ", "));
  if (told < nodes.size()) text += fmt::format(" and {} more", nodes.size() - told);
  return text;
}

Need knows_nodes(const Target& target, const KnownHostsWish& wish) {
  Need need{.what = fmt::format("ssh knows the host keys of {}", counted(wish.known, "node"))};
  const auto& known = target.facts().system.ssh.known_hosts;
  if (!target.looked() || (!known.ok() && !known.absent())) return need;
  need.now = need.at_boot = wish.strangers.empty();
  if (!wish.strangers.empty()) need.found = "not those of " + some_of(wish.strangers);
  return need;
}

// The keys come from each node's own files over a connection whose host key was checked, so they are as
// trustworthy as that check. A key that replaces another is still never written without a person's consent.
void add_known_hosts(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().user || target.cluster().nodes.size() < 2) return;
  const KnownHostsWish wish = known_hosts_for(target);
  if (wish.lines.empty()) return;
  Setting setting{
      .section = Section::kSsh,
      .name = "ssh/known-hosts",
      .title = fmt::format("host keys of {} in /etc/ssh/ssh_known_hosts", counted(wish.known, "node")),
      .reason =
          "MPI and its kin ask no question on their way, and a machine that pretends to be a node "
          "is found out; the keys are those that each node itself has",
      .needs = {knows_nodes(target, wish)},
      .files = {{.path = "/etc/ssh/ssh_known_hosts", .content = wish.lines, .block = true}}};
  if (!wish.unread.empty())
    setting.notes.push_back(fmt::format(
        "Nobody has read the host keys of {}: what railbed wrote of them stays, nothing is added.",
        some_of(wish.unread)));
  if (!wish.changed.empty())
    setting.doubt = fmt::format(
        "{}: compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` and its kin on the node's console",
        fmt::join(wish.changed, "; "));
  settings.push_back(std::move(setting));
}

}  // namespace

void render_ssh(const Target& target, std::vector<Setting>& settings) {
  add_keys(target, settings);
  add_client(target, settings);
  add_known_hosts(target, settings);
}

}  // namespace railbed
