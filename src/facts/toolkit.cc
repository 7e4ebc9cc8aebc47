#include "facts/toolkit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kMostFolders = 64;  // of one name

// Returns true for a version: numbers with dots between them.
bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 32 && is_digit(text.front()) && is_digit(text.back()) &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct CudaPart {
  std::string version = {};
  FIELDS(CudaPart, version);
};
struct CudaVersions {
  CudaPart cuda = {};
  FIELDS(CudaVersions, cuda);
};

// Parses "CUDA Version 10.2.89" of toolkits before 11.1 and of Debian.
std::optional<std::string> parse_version_text(const std::string& text) {
  constexpr std::string_view kBefore = "CUDA Version ";
  if (!text.starts_with(kBefore)) return std::nullopt;
  const auto version = trim(std::string_view(text).substr(kBefore.size()));
  return is_version(version) ? std::optional(std::string(version)) : std::nullopt;
}

// Returns a toolkit's version from version.json, else version.txt, else the folder's name; empty if none has
// it.
std::string version_in(Host& host, const std::string& folder) {
  const auto json = host.read(folder + "/version.json").parsed(parse_cuda_version);
  if (json) return *json;
  const auto text = host.read(folder + "/version.txt").parsed(parse_version_text);
  if (text) return *text;
  const std::string name = last_part(folder).substr(0, 40);
  const std::string behind = name.starts_with("cuda-") ? name.substr(5) : "";
  return is_version(behind) ? behind : "";
}

// Returns the names in a folder that start with `begin`, kMostFolders at most.
std::vector<std::string> named_like(Host& host, const std::string& folder, std::string_view begin) {
  auto names = device_names(host, folder, kLongestHost).value_or({});
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(begin); });
  names.resize(std::min(names.size(), kMostFolders));
  return names;
}

// Finds toolkits by resolved path, so that a link such as /usr/local/cuda does not count twice.
Reading<std::vector<CudaToolkit>> collect_cuda(Host& host) {
  if (const auto local = host.list("/usr/local"); local.unknown()) return {local.miss(), local.from()};
  const std::string chosen = host.resolve("/usr/local/cuda").value_or("");
  std::vector<CudaToolkit> found;
  for (const std::string& name : named_like(host, "/usr/local", "cuda")) {
    const auto folder = host.resolve("/usr/local/" + name);
    const auto same = [&](const CudaToolkit& toolkit) { return toolkit.path == *folder; };
    if (!folder || std::ranges::any_of(found, same) || !host.resolve(*folder + "/bin/nvcc")) continue;
    found.push_back({*folder, version_in(host, *folder), *folder == chosen});
  }
  // Debian's nvidia-cuda-toolkit.
  if (host.resolve("/usr/bin/nvcc") && host.list("/usr/lib/cuda"))
    found.push_back({"/usr/lib/cuda", version_in(host, "/usr/lib/cuda"), false});
  const std::string from = "/usr/local/cuda*, /usr/lib/cuda";
  if (found.empty()) return {Miss{Missing::kAbsent, "no nvcc in these folders"}, from};
  return {std::move(found), from};
}

// Reads the first nccl.h in the order of a compiler's search.
Reading<NcclHeader> collect_nccl_header(Host& host) {
  constexpr std::string_view kFolders[] = {"/usr/local/include", "/usr/include/x86_64-linux-gnu",
                                           "/usr/include/aarch64-linux-gnu", "/usr/include",
                                           "/usr/local/cuda/include"};
  // The version is in the header's first kilobyte.
  constexpr std::size_t kEnough = 16 << 10;
  for (const auto folder : kFolders) {
    const std::string path = std::string(folder) + "/nccl.h";
    const auto text = host.read(path, kEnough);
    if (text.absent()) continue;
    return text.parsed([&](const std::string& header) -> std::optional<NcclHeader> {
      const auto version = parse_nccl_header(header);
      if (!version) return std::nullopt;
      return NcclHeader{path, *version};
    });
  }
  return {Miss{Missing::kAbsent, "no nccl.h in the usual folders"}, "/usr/include, /usr/local/cuda/include"};
}

// Debian and NVIDIA's packages; Red Hat's modules; MLNX_OFED (docs.nvidia.com, "MPI"); HPC-X; Intel's oneAPI.
Reading<std::vector<std::string>> collect_mpi_compilers(Host& host) {
  std::vector<std::string> folders = {"/usr/bin", "/usr/local/bin", "/usr/lib64/openmpi/bin",
                                      "/usr/lib64/mpich/bin", "/opt/intel/oneapi/mpi/latest/bin"};
  for (const std::string& name : named_like(host, "/usr/mpi/gcc", "openmpi"))
    folders.push_back("/usr/mpi/gcc/" + name + "/bin");
  for (const std::string& name : named_like(host, "/opt", "hpcx"))
    folders.push_back("/opt/" + name + "/ompi/bin");
  for (const std::string& name : named_like(host, "/opt", "openmpi"))
    folders.push_back("/opt/" + name + "/bin");
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    const auto compiler = host.resolve(folder + "/mpicc");
    if (compiler.unknown()) return {compiler.miss(), compiler.from()};
    if (compiler) found.push_back(folder + "/mpicc");
  }
  const std::string from = "/usr/bin, /usr/lib64/openmpi, /usr/mpi/gcc, /opt/hpcx*";
  if (found.empty()) return {Miss{Missing::kAbsent, "no mpicc in these folders"}, from};
  return {std::move(found), from};
}

}  // namespace

std::optional<std::string> parse_cuda_version(const std::string& text) {
  const auto versions = json::read<CudaVersions>(text);
  if (!versions || !is_version(versions->cuda.version)) return std::nullopt;
  return versions->cuda.version;
}

std::optional<std::string> parse_nccl_header(std::string_view text) {
  int parts[] = {-1, -1, -1};
  constexpr std::string_view kNames[] = {"NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"};
  for (const auto line : lines(text)) {
    const auto all = words(line);
    if (all.size() < 3 || all[0] != "#define") continue;
    const auto name = std::ranges::find(kNames, all[1]) - std::begin(kNames);
    if (name < 3) parts[name] = parse_number<int>(all[2]).value_or(-1);
  }
  if (std::ranges::any_of(parts, [](int one) { return one < 0 || one > 9999; })) return std::nullopt;
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

Toolkit collect_toolkit(Host& host) {
  return {collect_cuda(host), collect_nccl_header(host), collect_mpi_compilers(host)};
}

}  // namespace railbed
