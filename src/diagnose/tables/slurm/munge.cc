// munge.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kMungeSource = "munge src/munged/dec.c; Slurm auth_munge.c";

// clang-format off
constexpr Symptom kSlurmMungeSymptoms[] = {
    {"munge-invalid",         kError,   kCause, kAnyone, {"Munge decode failed: Invalid credential"},
     kMungeSource,
     "munge cannot decrypt a credential: two nodes use different keys"},
    {"munge-unmunge",         kError,   kCause, kAnyone, {"unmunge: ", "Invalid credential"},
     kMungeSource,
     "munge cannot decrypt a credential: two nodes use different keys"},
    {"munge-rewound",         kError,   kCause, kAnyone, {"ewound credential"},
     kMungeSource,
     "A munge credential comes from the future: the clocks of two nodes differ"},
    {"munge-expired",         kError,   kCause, kAnyone, {"xpired credential"},
     kMungeSource,
     "A munge credential was too old when it arrived"},
    {"munge-socket",          kError,   kCause, kAnyone, {"ailed to access \"", "munge.socket"},
     "munge src/libmunge/m_msg_client.c; github.com/dun/munge",
     "A program does not reach munged"},
    {"munge-socket-old",      kError,   kCause, kAnyone, {"nable to access \"", "munge.socket"},
     "munge src/libmunge/m_msg_client.c",
     "A program does not reach munged"},
    {"munge-user",            kError,   kCause, kAnyone, {"Unauthorized credential for client"},
     "munge src/munged/dec.c",
     "A munge credential was made for another user"},

    // Lines that confirm or refute
    {"munge-service-down",    kNote,    kSight, kAnyone, {"munge.service", "ailed"},
     "systemd", "munged failed"},
    {"munge-service-up",      kNote,    kSight, kAnyone, {"Started MUNGE authentication service"},
     "systemd", "munged was started"},
    {"clock-not-synchronised", kNote,   kSight, kAnyone, {"System clock synchronized: no"},
     "timedatectl", "The clock is not synchronised"},
    {"in-container",          kNote,    kSight, kAnyone, {"pyxis: "},
     "github.com/NVIDIA/pyxis", "The job runs in a container of pyxis"},
};

constexpr Hypothesis kSlurmMungeHypotheses[] = {
    {.id = "munge-old-key", .explains = {"munge-invalid", "munge-unmunge"}, .needs = {"munge-keys-equal"},
     .refuted_by = {"munge-keys-differ"}, .decisive = true,
     .title = "munged on a node still uses the old key: it was not restarted after the key file was replaced",
     .cause = "munged reads its key only at start, so it still has the one from before the file was replaced: equal files do not help it.",
     .remedy = "Restart munged on every node (systemctl restart munge), then munge -n | ssh NODE unmunge; restart slurmd after it.",
     .settle_by = "ps -o lstart= -C munged; stat -c %y /etc/munge/munge.key on both nodes",
     .source = "github.com/dun/munge/issues/62"},
    {.id = "munge-other-key", .explains = {"munge-invalid", "munge-unmunge"}, .needs = {"munge-keys-differ"},
     .refuted_by = {"munge-keys-equal"}, .decisive = true,
     .title = "The key files of munge differ between the nodes",
     .cause = "munge encrypts with the key of the sender, and the receiver has another.",
     .remedy = "Copy /etc/munge/munge.key of the controller to all nodes (owner munge, mode 0400), and restart munged on them.",
     .settle_by = "sha256sum /etc/munge/munge.key on both nodes",
     .source = "munge, QUICKSTART"},
    {.id = "munge-rewound", .explains = {"munge-rewound"}, .common = kUsual, .stated = true,
     .cause = "The sender's clock is ahead of the receiver's.",
     .remedy = "chronyc tracking on both nodes; start chronyd on the one that is off: systemctl enable --now chronyd, chronyc makestep.",
     .source = kMungeSource},
    {.id = "munge-clock", .explains = {"munge-expired"}, .needs = {"red:fleet.clock-skew"}, .refuted_by = {"green:fleet.clock-skew"},
     .title = "The clocks of two nodes differ by more than munge allows",
     .cause = "A credential lives five minutes; the receiver's clock is further ahead than that.",
     .remedy = "chronyc tracking on both nodes; start chronyd on the one that is off: systemctl enable --now chronyd, chronyc makestep.",
     .settle_by = "the dates ENCODED and DECODED in the lines below; date on both nodes",
     .source = kMungeSource},
    {.id = "munge-clock-local", .explains = {"munge-expired"}, .needs = {"clock-not-synchronised"}, .refuted_by = {"green:fleet.clock-skew", "red:fleet.clock-skew"},
     .title = "The clock of a node is not synchronised, so munge takes credentials for old",
     .cause = "A credential lives five minutes, and this node's clock goes its own way.",
     .remedy = "systemctl enable --now chronyd; chronyc makestep.",
     .settle_by = "the dates ENCODED and DECODED in the lines below; date on both nodes",
     .source = kMungeSource},
    {.id = "munge-late", .explains = {"munge-expired"}, .common = kRare, .needs = {"green:fleet.clock-skew"}, .refuted_by = {"red:fleet.clock-skew", "clock-not-synchronised"},
     .title = "A message waited longer than five minutes: the clocks agree",
     .cause = "The credential was made in time and read late: slurmctld or slurmd was too busy or stopped in between.",
     .remedy = "sdiag on the controller shows its queues; look for a slurmctld that swapped or waited for its storage.",
     .settle_by = "the dates ENCODED and DECODED in the lines below",
     .source = kMungeSource},
    {.id = "munge-stopped", .explains = {"munge-socket", "munge-socket-old"}, .needs = {"munge-service-down"}, .refuted_by = {"munge-service-up", "in-container"},
     .title = "munged does not run on that node",
     .cause = "Nothing serves the socket. The advice to use more threads in the message does not help.",
     .remedy = "journalctl -u munge; usual reasons are the key's owner and mode (munge, 0400) and those of /run/munge; then systemctl restart munge.",
     .settle_by = "systemctl status munge; ls -l /run/munge",
     .source = "github.com/dun/munge"},
    {.id = "munge-not-in-container", .explains = {"munge-socket", "munge-socket-old"}, .needs = {"in-container"}, .refuted_by = {"munge-service-down"},
     .title = "The container does not have the socket of munged",
     .cause = "munged runs on the host, and /run/munge of the host is not in the container.",
     .remedy = "Mount it: --container-mounts=/run/munge (pyxis), -v /run/munge:/run/munge (docker), -B /run/munge (apptainer).",
     .settle_by = "ls -l /run/munge in the container and on the host",
     .source = "github.com/dun/munge"},
    {.id = "munge-user", .explains = {"munge-user"}, .common = kUsual, .stated = true,
     .cause = "The credential is only for one user ID, and the reader has another; the message has the reader's.",
     .remedy = "Look whether SlurmUser and SlurmdUser are the same everywhere, with the same IDs: id slurm on both nodes, scontrol show config | grep -e SlurmUser -e SlurmdUser, and one slurm.conf for all; ps -o user= -C slurmd,slurmctld shows who runs them.",
     .source = "munge src/munged/dec.c"},
};
// clang-format on

}  // namespace

Table slurm_munge() { return {kSlurmMungeSymptoms, kSlurmMungeHypotheses}; }

}  // namespace railbed::diagnose::tables
