// What a node shall have, as data: settings, the files that keep each at the next boot, and the steps that
// make it true now. Renderers (render.h) write them from cluster.yaml and facts; plan.h compares them with
// the node.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

// What `--only` names, in the order in which settings are made.
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
  kNccl,
  kConsole,
  kSsh,
  kExporters,
  kLeftovers  // files of railbed's that nothing asks for any more: no renderer, plan.h finds them
};
constexpr auto enum_names(Section) {
  return std::array<std::string_view, 17>{"packages", "network",  "hosts", "sysctl",    "limits",   "modules",
                                          "governor", "services", "rdma",  "qos",       "ipoib",    "opensm",
                                          "nccl",     "console",  "ssh",   "exporters", "leftovers"};
}

// The worst that may happen while it is made, when all goes as it should.
enum class Risk {
  kNone,     // nobody notices
  kService,  // a service starts anew
  kTraffic,  // a rail's link goes down for seconds: no job may run
  kAccess    // the management network: a mistake locks everybody out
};
constexpr auto enum_names(Risk) {
  return std::array<std::string_view, 4>{"none", "service", "traffic", "access"};
}

// What a step does. The list is closed: nothing else ever runs as root.
enum class StepKind {
  kLoadSysctl,       // FILE: its keys are set now
  kLoadModule,       // NAME
  kReloadUnits,      // systemd reads its units again
  kEnableUnit,       // UNIT: at every boot, and now
  kRestartUnit,      // UNIT: so that it takes its new settings; it has to run already
  kDisableUnit,      // UNIT: at no boot, and not now
  kApplyNetplan,     // everything that netplan's files say
  kLoadConnections,  // FILE…: NetworkManager reads these keyfiles again, and each connection goes up
  kReloadNetworkd,   // INTERFACE…: systemd-networkd reads its files again and sets these interfaces
  kSetLinkDown,      // INTERFACE…: until somebody sets it up again, or the next boot
  kReloadUdev,       // the rules are read again; devices that are there keep their names until the next boot
  kUpdateGrub,       // the boot menu is written from /etc/default/grub
  kSetKernelArguments,  // ARGUMENT…: to every installed kernel's command line (RHEL's grubby)
  kInstallPackages,     // NAME[=VERSION]…
  kHoldPackages,        // NAME…: no upgrade touches them
  kRefreshPackages,     // the lists of what there is to install
  kEnableStream,        // MODULE:STREAM: which packages dnf takes (RHEL 8 and 9)
  kReloadSshd           // sshd reads its settings again, if it finds them sound; connections stay
};
constexpr auto enum_names(StepKind) {
  return std::array<std::string_view, 18>{
      "load-sysctl",      "load-module",   "reload-units",         "enable-unit",      "restart-unit",
      "disable-unit",     "apply-netplan", "load-connections",     "reload-networkd",  "set-link-down",
      "reload-udev",      "update-grub",   "set-kernel-arguments", "install-packages", "hold-packages",
      "refresh-packages", "enable-stream", "reload-sshd"};
}

struct NodeStep {
  StepKind kind = StepKind::kReloadUnits;
  std::vector<std::string> arguments = {};
  FIELDS(NodeStep, kind, arguments);
  bool operator==(const NodeStep&) const = default;
};

// A file as it shall be. Of a file that others write too, only the lines between railbed's two marks
// (marked_block() of files.h).
struct DesiredFile {
  std::string path = {};
  std::string content = {};  // ends with a newline
  int mode = 0644;           // of a whole file; owner and group are root's
  bool block = false;        // `content` stands between the marks, the rest of the file stays
  FIELDS(DesiredFile, path, content, mode, block);
  bool operator==(const DesiredFile&) const = default;
};

// Something that has to be true of the node, and whether it is, by its facts.
struct Need {
  std::string what = {};             // "ens6 has MTU 9000"
  std::optional<bool> now = {};      // none: the facts do not tell
  std::optional<bool> at_boot = {};  // likewise, for the next start
  std::string found = {};            // what there is instead: "MTU 1500"; empty when it is met
  FIELDS(Need, what, now, at_boot, found);
  bool operator==(const Need&) const = default;
};

// A file of somebody else's that says otherwise, so that the setting would not hold while it is there.
struct Contradiction {
  std::string path = {};
  std::string why = {};
  FIELDS(Contradiction, path, why);
  bool operator==(const Contradiction&) const = default;
};

// The unit of a plan: made as a whole or not at all. Nothing is done where every need is met now and at boot,
// whoever saw to that.
struct Setting {
  Section section = Section::kNetwork;
  std::string name = {};                   // "sysctl/socket-buffers", by which rules name it
  std::vector<std::string> subjects = {};  // the interfaces or services that it is about; empty: the node
  std::string title = {};                  // "ens6 of rail0: 10.0.0.1/24, MTU 9000"
  std::string reason = {};                 // why one wants it, a sentence
  Risk risk = Risk::kNone;
  bool reboot = false;  // it is true after the next boot only
  // cluster.yaml asks for it. Else verify wants it of every such node, and it is made only where a need is
  // known not to be met.
  bool asked = true;
  std::vector<Need> needs = {};
  std::vector<DesiredFile> files = {};
  std::vector<Contradiction> contradictions = {};
  std::vector<NodeStep> steps = {};     // in order, once the files lie there
  std::vector<std::string> notes = {};  // what a person has to know or do besides
  std::string doubt = {};  // what a person has to look at first: it waits for `take_over`; empty: nothing
  FIELDS(Setting, section, name, subjects, title, reason, risk, reboot, asked, needs, files, contradictions,
         steps, notes, doubt);
  bool operator==(const Setting&) const = default;
};

}  // namespace railbed
