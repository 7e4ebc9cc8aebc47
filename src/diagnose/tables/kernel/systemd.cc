// systemd and its network.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kUnits = "systemd.exec(5), systemd.service(5)";

// clang-format off
constexpr Symptom kKernelSystemdSymptoms[] = {
    {"uplink-busy",           kError,   kCause, kAnyone, {"Failed to set IAID+DUID: Device or resource busy"}, "systemd-networkd; github.com/Mellanox/network-operator/issues/2258",
     "A network interface came back and got no address (systemd-networkd, DHCP): the node is off that network"},
    {"unit-exec",             kError,   kCause, kAnyone, {"status=203/EXEC"}, kUnits, "systemd could not start a service: its program is not there or may not be run"},
    {"unit-user",             kError,   kCause, kAnyone, {"status=217/USER"}, kUnits, "systemd could not start a service: its user does not exist"},
    {"unit-namespace",        kError,   kCause, kAnyone, {"status=226/NAMESPACE"}, kUnits, "systemd could not start a service: it could not make its mount namespace"},
    {"unit-too-quickly",      kError,   kEcho,  kAnyone, {"Start request repeated too quickly"}, kUnits, "A service failed again and again, and systemd gave up"},
    {"unit-failed",           kError,   kEcho,  kAnyone, {".service: Failed with result '"}, kUnits, "A service failed"},

    // Lines that confirm or refute
    {"openibd-restart",       kNote,    kSight, kAnyone, {"openibd restart"}, "MLNX_OFED, DOCA-OFED", "The network driver was restarted"},
    {"uplink-other-driver",   kNote,    kSight, kAnyone, {"NIC Link is Up"}, "Linux drivers/net/ethernet/intel", "A card of another driver came up"},
    {"namespace-no-file",     kNote,    kSight, kAnyone, {"Failed at step NAMESPACE", "No such file"}, kUnits, "A path of a unit is not there"},
    {"namespace-forbidden",   kNote,    kSight, kAnyone, {"Failed at step NAMESPACE", "ermission denied"}, kUnits, "A unit may not mount"},
    {"namespace-not-permitted",kNote,    kSight, kAnyone, {"Failed at step NAMESPACE", "not permitted"}, kUnits, "A unit may not mount"},
};

constexpr Hypothesis kKernelSystemdHypotheses[] = {
    {.id = "uplink-by-openibd", .explains = {"uplink-busy"}, .common = kUsual, .needs = {"openibd-restart"}, .refuted_by = {"uplink-other-driver"},
     .title = "The node's own uplink is a port of the network driver that was restarted: openibd restart took the node off its network",
     .cause = "The driver container restarts all Mellanox ports, the one of the node's management address too, and systemd-networkd does not get it up again.",
     .remedy = "On the console: networkctl reconfigure INTERFACE (networkctl renew for the lease). Keep the driver container off nodes whose uplink is a ConnectX port (nodeAffinity of ofedDriver; use the driver of the image), or move the uplink to another card.",
     .settle_by = "ip route get API-SERVER; ethtool -i INTERFACE | grep driver",
     .source = "github.com/Mellanox/network-operator/issues/2258 and 2176"},
    {.id = "uplink-race", .explains = {"uplink-busy"}, .needs = {"uplink-other-driver"}, .refuted_by = {"openibd-restart"},
     .title = "systemd-networkd lost the race with a link that went down and up",
     .cause = "The link came back while its DHCP client still ran.",
     .remedy = "networkctl reconfigure INTERFACE; look in dmesg why the link went down, and update systemd.",
     .settle_by = "journalctl -u systemd-networkd; dmesg -T | grep -i link",
     .source = "systemd-networkd"},
    {.id = "unit-exec", .explains = {"unit-exec"}, .stated = true,
     .cause = "systemd could not execute the path of ExecStart: it is not there, has no x bit, is on a file system mounted noexec, is denied by SELinux, or is a script whose first line names no program of this system, or a program for another architecture. The line of the same moment before it has the system's reason.",
     .remedy = "journalctl -u UNIT | grep -i 'failed to execute\\|failed at step EXEC'; systemctl cat UNIT; ls -lZ and head -1 (file) of the path; restorecon.",
     .source = kUnits},
    {.id = "unit-user", .explains = {"unit-user"}, .stated = true,
     .cause = "User= of the unit names a user that this node does not know (LDAP not up yet, or a package that did not make it).",
     .remedy = "getent passwd USER; useradd -r USER, or After=sssd.service.",
     .source = kUnits},
    {.id = "unit-namespace", .explains = {"unit-namespace"}, .needs = {"namespace-no-file"}, .refuted_by = {"namespace-denied"},
     .title = "systemd could not start a service: a path of its unit is not there",
     .cause = "ReadWritePaths=, BindPaths= or the like name a path that does not exist.",
     .remedy = "journalctl -u UNIT names it; make the folder, or write a - before the path in the unit (systemctl edit UNIT).",
     .settle_by = "journalctl -u UNIT: the line with NAMESPACE",
     .source = kUnits},
    {.id = "unit-namespace-denied", .explains = {"unit-namespace"}, .needs = {"namespace-denied"}, .refuted_by = {"namespace-no-file"},
     .title = "systemd could not start a service: it may not make mount namespaces here",
     .cause = "The unit wants a file system of its own (PrivateTmp, ProtectSystem, DynamicUser …), and the container or a security module forbids the mounts.",
     .remedy = "LXC: nesting=1 for an unprivileged container; else switch the unit's options off: systemctl edit UNIT, with PrivateTmp=no ProtectSystem=no. ausearch -m avc, or dmesg | grep apparmor, names who forbids it.",
     .settle_by = "systemd-detect-virt; journalctl -u UNIT: the line with NAMESPACE",
     .source = "github.com/systemd/systemd/issues/17866; github.com/canonical/lxd/issues/8252"},
    {.id = "unit-echo", .explains = {"unit-too-quickly", "unit-failed"}, .stated = true,
     .cause = "The service's own lines before it have the reason.",
     .remedy = "journalctl -u UNIT -b: its last lines before the failure; give them to railbed explain.",
     .source = kUnits},
};
// clang-format on

}  // namespace

Table kernel_systemd() { return {kKernelSystemdSymptoms, kKernelSystemdHypotheses}; }

}  // namespace railbed::diagnose::tables
