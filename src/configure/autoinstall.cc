#include "configure/autoinstall.h"

#include <fmt/format.h>

#include "base/ip.h"
#include "base/yaml.h"
#include "settings/files.h"
#include "settings/platform.h"
#include "settings/serial_console.h"

namespace railbed {
namespace {

// Quotes one word of a kickstart line, which is parsed like a shell's (pykickstart's parser, by shlex).
// Values of cluster.yaml have no control characters.
std::string kickstart_quoted(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + '"';
}

std::string head(const Node& node) {
  return fmt::format("{}# For the bare machine {}.\n", kFileMark, node.name);
}

std::string netplan_address(const Configuration& configure) {
  if (!configure.management_address) return "        dhcp4: true\n";
  std::string text = fmt::format("        addresses:\n          - {}\n",
                                 yaml_quoted(to_text(*configure.management_address)));
  if (configure.management_gateway)
    text += fmt::format("        routes:\n          - to: default\n            via: {}\n",
                        yaml_quoted(configure.management_gateway->to_text()));
  return text;
}

// If no interface is configured, the installer's default stays: DHCP on all of them.
std::string autoinstall_network(const Configuration& configure) {
  if (!configure.management_interface) return "";
  std::string text = fmt::format("  network:\n    version: 2\n    ethernets:\n      {}:\n{}",
                                 yaml_quoted(*configure.management_interface), netplan_address(configure));
  if (configure.management_dns && !configure.management_dns->empty()) {
    text += "        nameservers:\n          addresses:\n";
    for (const IpAddress& server : *configure.management_dns)
      text += fmt::format("            - {}\n", yaml_quoted(server.to_text()));
  }
  return text;
}

// A user without a password cannot enter one for sudo.
std::string autoinstall_user(const Node& node) {
  std::string text = fmt::format(
      "  user-data:\n"
      "    hostname: {}\n"
      "    ssh_pwauth: false\n"
      "    users:\n"
      "      - name: {}\n"
      "        groups: [adm, sudo]\n"
      "        shell: /bin/bash\n"
      "        lock_passwd: true\n"
      "        sudo: \"ALL=(ALL) NOPASSWD:ALL\"\n"
      "        ssh_authorized_keys:\n",
      yaml_quoted(node.name), yaml_quoted(*node.configure.user));
  for (const std::string& key : *node.configure.authorized_keys)
    text += fmt::format("          - {}\n", yaml_quoted(key));
  return text;
}

// The same file that `railbed plan` writes, so that a later plan has nothing to do there.
std::string autoinstall_console(const Node& node) {
  const auto console = serial_console(node.configure);
  if (!console) return "";
  std::string text =
      fmt::format("  late-commands:\n    - |\n      cat > /target{} <<'EOF'\n", kGrubConsoleFile);
  const std::string file = std::string(kFileMark) + grub_settings(*console);
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t end = file.find('\n', at) + 1;
    text += "      " + file.substr(at, end - at);
    at = end;
  }
  return text + "      EOF\n    - curtin in-target -- update-grub\n";
}

// canonical/subiquity, autoinstall-reference. `identity` requires a password, so `user-data` creates the
// user.
std::string autoinstall_of(const Node& node) {
  return "#cloud-config\n" + head(node) +
         "autoinstall:\n"
         "  version: 1\n"
         "  # The installer waits here and asks for the disk. For an installation that asks nothing take these\n"
         "  # two lines out and describe `storage:` yourself: without that it erases a whole disk of its choice.\n"
         "  interactive-sections:\n"
         "    - storage\n"
         "  locale: en_US.UTF-8\n"
         "  keyboard:\n"
         "    layout: us\n" +
         autoinstall_network(node.configure) +
         "  ssh:\n"
         "    install-server: true\n"
         "    allow-pw: false\n" +
         autoinstall_user(node) + autoinstall_console(node);
}

std::string netmask(int prefix) {
  const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  return fmt::format("{}.{}.{}.{}", mask >> 24, mask >> 16 & 255, mask >> 8 & 255, mask & 255);
}

std::string kickstart_address(const Configuration& configure) {
  if (!configure.management_address) return " --bootproto=dhcp";
  const auto& [address, prefix] = *configure.management_address;
  const std::string text = address.to_text();
  std::string words = address.is_v4()
                          ? fmt::format(" --bootproto=static --ip={} --netmask={}", text, netmask(prefix))
                          : fmt::format(" --noipv4 --ipv6={}/{}", text, prefix);
  if (configure.management_gateway)
    words += fmt::format(" --{}={}", configure.management_gateway->is_v4() ? "gateway" : "ipv6gateway",
                         configure.management_gateway->to_text());
  return words;
}

std::string kickstart_network(const Node& node) {
  const Configuration& configure = node.configure;
  std::string text = "network";
  if (configure.management_interface)
    text += fmt::format(" --device={}{}", *configure.management_interface, kickstart_address(configure));
  else
    text += " --bootproto=dhcp";
  std::string servers;
  for (const IpAddress& server : configure.management_dns.value_or(std::vector<IpAddress>{}))
    servers += (servers.empty() ? "" : ",") + server.to_text();
  if (!servers.empty()) text += " --nameserver=" + servers;
  return text + fmt::format(" --hostname={} --activate\n", node.name);
}

std::string kickstart_user(const Configuration& configure) {
  std::string text = fmt::format("rootpw --lock\nuser --name={} --groups=wheel --lock\n", *configure.user);
  for (const std::string& key : *configure.authorized_keys)
    text += fmt::format("sshkey --username={} {}\n", *configure.user, kickstart_quoted(key));
  return text;
}

// pykickstart's documentation. A user without a password cannot enter one for sudo.
std::string kickstart_of(const Node& node) {
  std::string text =
      head(node) +
      "# Neither clearpart nor autopart: the installer asks for the disk. For an installation that "
      "asks nothing\n# describe the disks here yourself.\n"
      "lang en_US.UTF-8\n"
      "keyboard us\n"
      "timezone Etc/UTC --utc\n" +
      kickstart_network(node) + kickstart_user(node.configure);
  if (const auto console = serial_console(node.configure))
    text += fmt::format("bootloader --append=\"{}\"\n", fmt::join(kernel_arguments(*console), " "));
  return text + fmt::format(
                    "firstboot --disable\n"
                    "reboot\n"
                    "\n"
                    "%packages\n"
                    "@^minimal-environment\n"
                    "openssh-server\n"
                    "%end\n"
                    "\n"
                    "%post\n"
                    "echo '{} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/90-railbed\n"
                    "chmod 0440 /etc/sudoers.d/90-railbed\n"
                    "%end\n",
                    *node.configure.user);
}

Result<void> check_access(const Node& node) {
  const Configuration& configure = node.configure;
  if (configure.user && configure.authorized_keys && !configure.authorized_keys->empty()) return {};
  return fail(
      ErrorKind::kBadInput,
      fmt::format("{}: nobody could log in after the installation; say who may, as in \"configure: {{user: "
                  "ops, authorized_keys: [\"ssh-ed25519 AAAA… ops\"]}}\"",
                  node.name));
}

}  // namespace

Result<std::vector<InstallFile>> install_files(const Node& node) {
  ASSIGN_OR_RETURN(const auto platform, platform_of(node, Facts{}));
  RETURN_IF_ERROR(check_access(node));
  if (platform.family == OsFamily::kRhel) return std::vector<InstallFile>{{"ks.cfg", kickstart_of(node)}};
  if (platform.os != "ubuntu")
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{}: railbed writes autoinstall for Ubuntu and kickstart for RHEL; Debian's installer "
                    "reads neither",
                    node.name));
  return std::vector<InstallFile>{{"user-data", autoinstall_of(node)},
                                  {"meta-data", fmt::format("instance-id: {}\n", yaml_quoted(node.name))}};
}

}  // namespace railbed
