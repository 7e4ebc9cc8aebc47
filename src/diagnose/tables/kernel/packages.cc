// apt and dpkg.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelPackagesSymptoms[] = {
    {"apt-no-key",            kError,   kCause, kAnyone, {"NO_PUBKEY"}, "apt-secure(8)", "apt does not trust a repository: it has not the key that signs it"},
    {"apt-two-keys",          kError,   kCause, kAnyone, {"Conflicting values set for option Signed-By"}, "sources.list(5)", "apt reads no list: one repository is configured twice, with different keys"},
    {"apt-waits",             kNote,    kCause, kAnyone, {"Waiting for cache lock"}, "apt-get(8), DPkg::Lock::Timeout", "apt waits: another program holds its lock"},
    {"apt-taken",             kError,   kCause, kAnyone, {"Could not get lock /var/lib/"}, "apt-get(8)", "apt did not start: another program holds its lock"},
    {"dpkg-interrupted",      kError,   kCause, kAnyone, {"dpkg was interrupted, you must manually run"}, "apt-get(8)", "apt does nothing: an installation before it was interrupted"},
    {"apt-no-release",        kError,   kCause, kAnyone, {"does not have a Release file"}, "apt-secure(8)", "apt does not take a repository: it got no Release file from that address"},
    {"apt-release-gone",      kError,   kCause, kAnyone, {"no longer has a Release file"}, "apt-secure(8)", "apt no longer takes a repository: it got no Release file from that address"},
    {"apt-unmet",             kError,   kCause, kAnyone, {"following packages have unmet dependencies"}, "apt", "apt cannot install the packages: their dependencies contradict each other"},
    {"apt-held",              kError,   kEcho,  kAnyone, {"held broken packages"}, "apt", "apt cannot install the packages: their dependencies contradict each other"},

    // Lines that confirm or refute
    {"apt-tls",               kNote,    kSight, kAnyone, {"ertificate verification failed"}, "apt-transport-https(1)", "apt does not trust the server's certificate"},
    {"apt-no-authorities",    kNote,    kSight, kAnyone, {"o system certificates available"}, "apt-transport-https(1)", "The machine has no authorities of TLS"},
    {"apt-404",               kNote,    kSight, kAnyone, {"404  Not Found"}, "apt-transport-http(1)", "The server has no such file"},
    {"nvidia-other-branch",   kNote,    kSight, kAnyone, {"Depends: nvidia", "but "}, "apt", "A package wants another release of the driver"},
    {"libnvidia-other-branch", kNote,   kSight, kAnyone, {"Depends: libnvidia", "but "}, "apt", "A package wants another release of the driver"},
    {"apt-own-release",       kNote,    kSight, kAnyone, {"Depends: libc6", "but "}, "apt", "A package is of another release of the distribution"},
    {"cuda-other-branch",     kNote,    kSight, kAnyone, {"Depends: cuda-drivers", "but "}, "apt", "A package wants another release of the driver"},
};

constexpr Hypothesis kKernelPackagesHypotheses[] = {
    {.id = "apt-key-of-nvidia", .explains = {"apt-no-key"}, .needs = {"apt-key-nvidia"}, .refuted_by = {"apt-key-other"}, .decisive = true,
     .title = "apt does not trust NVIDIA's repository: the key that signs it since April 2022 is not installed",
     .cause = "NVIDIA changed the key of its CUDA repositories in April 2022, and this machine or image has the old one, or none.",
     .remedy = "wget https://developer.download.nvidia.com/compute/cuda/repos/DISTRO/ARCH/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb; apt-key del 7fa2af80; remove older lists of it in /etc/apt/sources.list.d; apt update.",
     .settle_by = "the key in the message: A4B469963BF863CC is NVIDIA's new one",
     .source = "NVIDIA technical blog, Updating the CUDA Linux GPG Repository Key"},
    {.id = "apt-key", .explains = {"apt-no-key"}, .refuted_by = {"apt-key-nvidia"},
     .title = "apt does not trust a repository: its key is not installed",
     .cause = "The list of the repository is signed by the key in the message, which this machine does not have.",
     .remedy = "Install the key as its owner describes, into /usr/share/keyrings, and name it in the list (signed-by=); then apt update. Until then apt uses the old lists of that repository.",
     .settle_by = "the address in the message, and its owner's installation guide",
     .source = "apt-secure(8)"},
    {.id = "apt-two-keys", .explains = {"apt-two-keys"}, .stated = true,
     .cause = "Two lists in /etc/apt name the same repository and different key files (the message has both), mostly one of an older guide and one of a package.",
     .remedy = "grep -rl ADDRESS /etc/apt names them; remove the older one, then apt update.",
     .source = "sources.list(5), Signed-By"},
    {.id = "apt-taken", .explains = {"apt-taken", "apt-waits"}, .stated = true,
     .cause = "Another apt or dpkg runs (its PID is in newer messages), after a boot mostly unattended-upgrades or cloud-init.",
     .remedy = "Wait for it: systemctl stop unattended-upgrades ends it cleanly; cloud-init status --wait; scripts use apt -o DPkg::Lock::Timeout=600. Do not remove the lock files.",
     .source = "apt.conf(5)"},
    {.id = "dpkg-interrupted", .explains = {"dpkg-interrupted"}, .stated = true,
     .cause = "dpkg ended in the middle of its work: somebody or a lost login ended it, the node restarted, or the disk was full.",
     .remedy = "df -h / /boot; dpkg --configure -a; what fails there (often a DKMS build) is to be mended first. Then apt -f install.",
     .source = "dpkg(1)"},
    {.id = "apt-no-release", .explains = {"apt-no-release", "apt-release-gone"}, .common = kUsual, .refuted_by = {"apt-server-untrusted"},
     .title = "apt does not take a repository: there is none at that address for this release",
     .cause = "The address of the list has no repository for this release of the distribution, or it moved.",
     .remedy = "Open the address of the message in a browser; take the list for this release (lsb_release -cs) from the vendor's guide, or remove it.",
     .settle_by = "the line of that address above it (404, 403, a certificate)",
     .source = "apt-secure(8)"},
    {.id = "apt-untrusted-server", .explains = {"apt-no-release", "apt-release-gone"}, .needs = {"apt-server-untrusted"}, .refuted_by = {"apt-404"}, .decisive = true,
     .title = "apt does not take a repository: it does not trust the server's certificate (https)",
     .cause = "The machine or image has no authorities (ca-certificates), does not know that of the site or its proxy, or its clock is wrong.",
     .remedy = "apt install ca-certificates (from a list that is not https); the site's own authority into /usr/local/share/ca-certificates, then update-ca-certificates; timedatectl.",
     .settle_by = "curl -v of the address in the message",
     .source = "apt-transport-https(1)"},
    {.id = "apt-two-sources", .explains = {"apt-unmet", "apt-held"}, .needs = {"nvidia-mixed"}, .refuted_by = {"apt-own-release"},
     .title = "apt mixes NVIDIA packages of two releases or sources",
     .cause = "The driver's packages of the distribution and of NVIDIA's repository (or of two branches) exclude each other: each wants its own exact release.",
     .remedy = "apt-cache policy of the packages it names; take one source: apt purge '*nvidia*' '*cuda-drivers*', pin the other (Pin-Priority), unhold (apt-mark unhold), then install one branch.",
     .settle_by = "apt-cache policy nvidia-driver-NNN libnvidia-compute-NNN; apt-mark showhold",
     .source = "apt_preferences(5); NVIDIA driver installation guide"},
    {.id = "apt-other", .explains = {"apt-unmet", "apt-held"}, .common = kUsual, .refuted_by = {"nvidia-mixed"},
     .title = "apt cannot install the packages: their dependencies contradict each other",
     .cause = "The lines below name each package and the release that it wants: a held package, another release of the distribution, or a repository that is missing.",
     .remedy = "apt-cache policy of the named packages; apt-mark showhold; apt update; take packages of this release of the distribution.",
     .settle_by = "apt-cache policy of the packages it names",
     .source = "apt"},
};
// clang-format on

}  // namespace

Table kernel_packages() { return {kKernelPackagesSymptoms, kKernelPackagesHypotheses}; }

}  // namespace railbed::diagnose::tables
