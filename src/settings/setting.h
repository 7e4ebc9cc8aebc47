// The desired state of a node, as data: settings, the files that make each persist across reboots, and the
// steps that make it true now. Renderers (render.h) create them from cluster.yaml and facts; plan.h compares
// them with the node.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

class HostsTable;  // hosts_lines.h

// Names for `--only`, in the order in which settings are applied.
enum class Section {
  kPackages,
  kNetwork,
  kHosts,
  kSysctl,
  kLimits,
  kModules,
  kGovernor,
  kServices,
  kRdma,
  kQos,
  kIpoib,
  kOpensm,
  kStorage,
  kNccl,
  kConsole,
  kSsh,
  kExporters,
  kLeftovers  // railbed's files that are no longer needed: no renderer, plan.h finds them
};
constexpr auto enum_names(Section) {
  return std::array<std::string_view, 18>{
      "packages", "network", "hosts",  "sysctl",  "limits", "modules", "governor", "services",  "rdma",
      "qos",      "ipoib",   "opensm", "storage", "nccl",   "console", "ssh",      "exporters", "leftovers"};
}

// The worst effect while a setting is applied, if nothing goes wrong.
enum class Risk {
  kNone,     // not noticeable
  kService,  // a service restarts
  kTraffic,  // a rail's link goes down for seconds: no job may run
  kAccess    // the management network: a mistake locks everyone out
};
constexpr auto enum_names(Risk) {
  return std::array<std::string_view, 4>{"none", "service", "traffic", "access"};
}
// Returns the risk in words for people, "" for kNone.
constexpr std::string_view warning_of(Risk risk) {
  constexpr std::array<std::string_view, 4> kWarnings = {
      "", "a service starts anew", "the rail is down for some seconds: run it while no job does",
      "this is the management network: a mistake locks you out"};
  return kWarnings[static_cast<std::size_t>(risk)];
}

// The kinds of steps. The list is closed: no other command runs as root.
enum class StepKind {
  kLoadSysctl,       // FILE: its keys are set now
  kLoadModule,       // NAME
  kReloadUnits,      // systemd reads its units again
  kEnableUnit,       // UNIT: at every boot, and now
  kRestartUnit,      // UNIT: so that it uses its new settings; only if it is running
  kDisableUnit,      // UNIT: at no boot, and not now
  kApplyNetplan,     // everything in netplan's files
  kLoadConnections,  // FILE…: NetworkManager reads these keyfiles again and activates each connection
  kReloadNetworkd,   // INTERFACE…: systemd-networkd reads its files again and configures these interfaces
  kSetLinkDown,      // INTERFACE…: until it is set up again, or the next boot
  kReloadUdev,       // the rules are read again; present devices keep their names until the next boot
  kUpdateGrub,       // the boot menu is written from /etc/default/grub
  kSetKernelArguments,  // console=…: to every installed kernel's command line (RHEL's grubby)
  kInstallPackages,     // NAME[=VERSION]…
  kHoldPackages,        // NAME…: no upgrade touches them
  kRefreshPackages,     // the lists of available packages
  kEnableStream,        // MODULE:STREAM: selects the packages that dnf uses (RHEL 8 and 9)
  kFetchKey,            // FILE URL FINGERPRINT: of the keys at URL, FILE gets the one with this fingerprint
  kReloadSshd,          // sshd reads its settings again, if they are valid; connections stay
  kSetLinkUp            // INTERFACE…: no setting has it; `init --bring-up` does, and always goes back
};
constexpr auto enum_names(StepKind) {
  return std::array<std::string_view, 20>{
      "load-sysctl",          "load-module",      "reload-units",  "enable-unit",
      "restart-unit",         "disable-unit",     "apply-netplan", "load-connections",
      "reload-networkd",      "set-link-down",    "reload-udev",   "update-grub",
      "set-kernel-arguments", "install-packages", "hold-packages", "refresh-packages",
      "enable-stream",        "fetch-key",        "reload-sshd"};
}

// One step. Its arguments depend on the kind.
struct NodeStep {
  StepKind kind = StepKind::kReloadUnits;
  std::vector<std::string> arguments = {};
  FIELDS(NodeStep, kind, arguments);
  bool operator==(const NodeStep&) const = default;
};

// Lines of hosts(5) in a shared file that give names of the block other addresses, and how they are corrected.
struct HostsCorrection {
  std::shared_ptr<const HostsTable> table = {};  // null: a file of another kind
  std::string node = {};                         // the node of the file
  // Lines that the facts show, before and after, for commands by hand.
  std::vector<std::array<std::string, 2>> seen = {};
  bool operator==(const HostsCorrection&) const = default;
};

// A file in its desired state. If others write the file, too, only the lines between railbed's two marks
// (with_block() of files.h).
struct DesiredFile {
  std::string path = {};
  std::string content = {};  // ends with a newline
  int mode = 0644;           // of a whole file; owner and group are root's
  bool block = false;        // `content` goes between the marks, the rest of the file stays
  // Of a block: the file is a JSON object, which has no marks. It gets the members of `content`, and keeps all others.
  bool json = false;
  // The file of a block is TOML. It gets the tables of `content` at its end, without marks, unless it has one of them.
  bool toml = false;
  HostsCorrection hosts =
      {};  // of a block: lines outside of the marks that it corrects; not in JSON and TOML
  FIELDS(DesiredFile, path, content, mode, block, json, toml);
  bool operator==(const DesiredFile&) const = default;
};

// A condition that has to hold on the node, and whether it does, by its facts.
struct Need {
  std::string what = {};             // "ens6 has MTU 9000"
  std::optional<bool> now = {};      // nullopt if the facts do not show it
  std::optional<bool> at_boot = {};  // the same after the next boot
  std::string found = {};            // the present state: "MTU 1500"; empty if met
  FIELDS(Need, what, now, at_boot, found);
  bool operator==(const Need&) const = default;
};

// A file of another author that contradicts the setting, so that the setting would not hold while the file
// exists.
struct Contradiction {
  std::string path = {};
  std::string why = {};
  FIELDS(Contradiction, path, why);
  bool operator==(const Contradiction&) const = default;
};

// The unit of a plan: applied as a whole or not at all. Nothing is done if every need is met now and at boot,
// whatever the cause.
struct Setting {
  Section section = Section::kNetwork;
  std::string name = {};  // "sysctl/socket-buffers"; rules refer to it by this name
  // The interfaces or services that it concerns; empty: the node. "rail:NAME": the rail, at all of its nodes.
  std::vector<std::string> subjects = {};
  std::string title = {};   // "ens6 of rail0: 10.0.0.1/24, MTU 9000"
  std::string reason = {};  // its purpose, one sentence
  Risk risk = Risk::kNone;
  bool reboot = false;  // takes effect only after the next boot
  // True if cluster.yaml requests it. If false, verify expects it on every node of this kind, and it is
  // applied only if a need is known not to be met.
  bool asked = true;
  std::vector<Need> needs = {};
  std::vector<DesiredFile> files = {};
  std::vector<Contradiction> contradictions = {};
  std::vector<NodeStep> steps = {};     // in order, once the files are in place
  std::vector<std::string> notes = {};  // what else a person has to know or do
  std::string doubt = {};  // what a person has to check first: it waits for `take_over`; empty: nothing
  // Why it must not be applied while the node is as it is, whatever a person says; empty: nothing
  std::string refused = {};
  FIELDS(Setting, section, name, subjects, title, reason, risk, reboot, asked, needs, files, contradictions,
         steps, notes, doubt, refused);
  bool operator==(const Setting&) const = default;
};

}  // namespace railbed
