#include "campaign/look/self_check.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"
#include "base/version.h"
#include "bench/burn/cublaslt_library.h"
#include "bench/gpu/cublas_library.h"
#include "bench/gpu/nccl_library.h"
#include "facts/fitted.h"
#include "fleet/agent_binary.h"
#include "fleet/fleet.h"
#include "fleet/packed_agent.h"
#include "host/open.h"
#include "nvidia/calls.h"
#include "os/library_look.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::size_t kMostBinary = 1 << 30;
constexpr int kNewestCuda = 13;

struct KnownLibrary {
  std::string_view name;
  std::vector<std::string> files;
  bool (*fitted)(Host&);  // tests for the hardware that needs it; null: any machine
  std::string_view without;
  std::string_view package;
};

std::vector<KnownLibrary> known_libraries() {
  return {
      {"libibverbs",
       {"libibverbs.so.1"},
       has_rdma_devices,
       "RDMA devices are not asked for their limits, and nothing is measured over RDMA",
       "Debian, Ubuntu: libibverbs1 ibverbs-providers; RHEL: libibverbs"},
      {"librdmacm",
       {"librdmacm.so.1"},
       nullptr,
       "nothing connects by RDMA-CM: no such rung of `railbed bench ladder`, no `railbed bench rdma-cm`",
       "Debian, Ubuntu: librdmacm1; RHEL: librdmacm"},
      {"libibumad",
       {"libibumad.so.3", "libibumad.so"},
       nullptr,
       "`railbed fabric` asks no InfiniBand subnet itself",
       "Debian, Ubuntu: libibumad3; RHEL: libibumad"},
      {"libcurl",
       {"libcurl.so.4", "libcurl-gnutls.so.4"},
       nullptr,
       "no BMC is asked by Redfish, no webhook is told, and `railbed top` shows no other monitor",
       "Debian, Ubuntu: libcurl4; RHEL: libcurl"},
      {"NVML", nvidia_libraries().nvml, has_nvidia_gpus,
       "GPUs are known by PCI alone: no clocks, temperatures, errors, NVLink", "NVIDIA's driver"},
      {"CUDA driver", nvidia_libraries().cuda, has_nvidia_gpus,
       "no GPU copies, GPUDirect, collectives or rehearsals on GPUs", "NVIDIA's driver"},
      {"NCCL", nccl_files(), nullptr, "no collectives and no rehearsals between GPUs",
       "libnccl2 of NVIDIA, or PyTorch's nvidia-nccl"},
      {"cuBLAS", cublas_files(kNewestCuda), nullptr, "no computation in `railbed bench train` on GPUs",
       "NVIDIA's CUDA toolkit, or PyTorch's nvidia-cublas"},
      {"cuBLASLt", cublaslt_files(kNewestCuda), nullptr, "no products of matrices in `railbed burn`",
       "NVIDIA's CUDA toolkit, or PyTorch's nvidia-cublas"},
  };
}

struct KnownProgram {
  std::string_view name;
  std::string_view without;
  std::string_view package;
};

constexpr KnownProgram kPrograms[] = {
    {"ssh", "no other node is reached", "Debian, Ubuntu: openssh-client; RHEL: openssh-clients"},
    {"ssh-keyscan", "`railbed hostkeys` sees no keys",
     "Debian, Ubuntu: openssh-client; RHEL: openssh-clients"},
    {"zstd", "agents are packed by gzip, which takes longer", "zstd"},
    {"ip", "VLANs are not known, and `railbed apply` changes no addresses",
     "Debian, Ubuntu: iproute2; RHEL: iproute"},
    {"tc", "shapers of traffic are not seen", "Debian, Ubuntu: iproute2; RHEL: iproute-tc"},
    {"rdma", "queue pairs of running jobs are not seen", "Debian, Ubuntu: iproute2; RHEL: iproute"},
    {"ethtool", "optics are not read", "ethtool"},
    {"nft", "nftables' rules are not seen", "nftables"},
    {"iptables-save", "iptables' rules are not seen", "Debian, Ubuntu: iptables; RHEL: iptables-nft"},
    {"lldpcli", "switch ports at the other end of cables are not known", "lldpd"},
    {"journalctl", "of the kernel's log only what the kernel still holds is read", "systemd"},
    {"systemctl", "the state of services is not known", "systemd"},
    {"fio", "`railbed bench storage` measures nothing", "fio"},
    {"ipmipower", "no BMC is asked by IPMI", "Debian, Ubuntu: freeipmi-tools; RHEL: freeipmi"},
    {"ipmitool", "no serial console over IPMI", "ipmitool"},
    {"openssl", "the certificate of a BMC is not shown before it is trusted", "openssl"},
    {"xorriso", "`railbed autoinstall --iso` writes no ISO", "xorriso"},
    {"mcopy", "`railbed autoinstall --iso` writes no ISO of RHEL and its kin", "mtools"},
    {"scontrol", "`railbed verify --slurm` drains no node",
     "Debian, Ubuntu: slurm-client; SchedMD's packages"},
    {"kubectl", "`--launcher kubernetes` reaches no node", "Debian: kubernetes-client"},
};

Result<Binary> read_binary(const std::string& path) {
  ASSIGN_OR_RETURN(const auto bytes, read_file(path, kMostBinary));
  return Binary{fleet::elf_architecture(bytes), path, bytes.size(), sha256_hex(bytes), ""};
}

Binary read_agent(const std::string& architecture, const std::string& path) {
  auto binary = read_binary(path);
  if (!binary) return {architecture, path, 0, "", binary.error().text};
  if (binary->architecture != architecture)
    binary->problem = fmt::format("it is no program for {}: install the package again", architecture);
  binary->architecture = architecture;
  return *binary;
}

// Returns the agent that is embedded for nodes of this program's architecture. Developers' builds have none:
// they send themselves.
std::optional<Binary> read_carried_agent(const Binary& self) {
  const auto packed = fleet::packed_agent_of(self.path);
  if (!packed) return std::nullopt;
  const std::string bytes = fleet::unpacked_agent(self.path, *packed);
  Binary agent{self.architecture, self.path, bytes.size(), sha256_hex(bytes), ""};
  if (agent.sha256 != packed->hash) agent.problem = "it is not whole: install the package again";
  return agent;
}

std::vector<Part> look_for_libraries(Host& host, const PartFinder& finder) {
  std::vector<Part> parts;
  for (const KnownLibrary& known : known_libraries()) {
    const auto found = finder.library(known.files);
    parts.push_back({std::string(known.name), found.value_or(""), found.ok() ? "" : found.miss().why,
                     std::string(known.without), std::string(known.package),
                     known.fitted != nullptr && known.fitted(host)});
  }
  return parts;
}

std::vector<Part> look_for_programs(const PartFinder& finder) {
  std::vector<Part> parts;
  for (const KnownProgram& known : kPrograms)
    parts.push_back({std::string(known.name), finder.program(std::string(known.name)), "",
                     std::string(known.without), std::string(known.package)});
  return parts;
}

}  // namespace

PartFinder part_finder() { return {find_library, find_program}; }

Result<SelfCheck> check_self(Host& host, const std::string& program, const PartFinder& finder) {
  ASSIGN_OR_RETURN(auto self, read_binary(program));
  SelfCheck check{railbed_version(), gnu_get_libc_version(), std::move(self), {}, {}, {}};
  if (auto carried = read_carried_agent(check.self)) check.agents.push_back(std::move(*carried));
  for (const auto& [architecture, path] : fleet::installed_agents(program, check.self.architecture))
    check.agents.push_back(read_agent(architecture, path));
  check.libraries = look_for_libraries(host, finder);
  check.programs = look_for_programs(finder);
  return check;
}

Result<SelfCheck> check_self() {
  const auto host = open_this_machine();
  return check_self(*host, fleet::own_program(), part_finder());
}

int exit_code(const SelfCheck& check) {
  const auto is_missing = [](const Part& part) { return part.needed && part.found.empty(); };
  if (std::ranges::any_of(check.agents, [](const Binary& agent) { return !agent.problem.empty(); }))
    return kExitFailures;
  return std::ranges::any_of(check.libraries, is_missing) ? kExitWarnings : kExitClean;
}

}  // namespace railbed
