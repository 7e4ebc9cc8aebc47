// Who may log in with which key, and that the names of one node are known to have one host key.
#include <fmt/format.h>

#include "configure/files.h"
#include "configure/render.h"

namespace railbed {
namespace {

// The keys lie in a folder of root's and not in the user's home, where every user decides by a symbolic link
// which file root's pen writes. The files that sshd reads by itself stay the first ones
// (sshd_config(5), AuthorizedKeysFile), and the block is for this user alone: nobody loses a way in.
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
      fmt::format(
          "The user {0} has to be there: `id {0}`. railbed makes no users on a running node; `railbed "
          "autoinstall` does on a bare one.",
          *user),
      fmt::format(
          "Where sshd reads this user's keys from another place by now, name that place in a block of "
          "your own that sorts before: `sshd -T -C user={},host=localhost,addr=127.0.0.1` tells.",
          *user)};
  settings.push_back(std::move(setting));
}

void add_client(const Target& target, std::vector<Setting>& settings) {
  const Cluster& cluster = target.cluster();
  if (!target.configure().user || cluster.nodes.size() < 2) return;
  DesiredFile file{.path = "/etc/ssh/ssh_config.d/90-railbed.conf", .content = target.wide.host_key_aliases};
  settings.push_back(
      {.section = Section::kSsh,
       .title = fmt::format("one host key each for {} nodes", cluster.nodes.size()),
       .reason =
           "a node is the same one by each of its names: its host key is confirmed once, and then holds "
           "for every rail. To switch the check off (StrictHostKeyChecking no) would let anybody on the "
           "way be that node",
       .needs = {{.what = "ssh knows a node's names as one"}},
       .files = {std::move(file)},
       .notes = {
           "MPI asks no question on its way: log in to each node once, or collect the host keys, before "
           "the first job."}});
}

}  // namespace

void render_ssh(const Target& target, std::vector<Setting>& settings) {
  add_keys(target, settings);
  add_client(target, settings);
}

}  // namespace railbed
