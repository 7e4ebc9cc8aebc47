#include "host/process_text.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestValue = 1024;
constexpr std::size_t kMostVariables = 512;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool has_control(std::string_view text) { return printable(text) != text; }

// Calls `visit` with the name and value of each zero-ended piece until it returns false.
template <class Visit>
void each_variable(std::string_view environ, Visit&& visit) {
  while (!environ.empty()) {
    const auto end = environ.find('\0');
    const std::string_view piece = environ.substr(0, end);
    environ.remove_prefix(end == std::string_view::npos ? environ.size() : end + 1);
    const auto equals = piece.find('=');
    if (equals != std::string_view::npos && !visit(piece.substr(0, equals), piece.substr(equals + 1))) return;
  }
}

// Splits "libcudart.so.12.9.79 (deleted)" into "libcudart" and "12.9.79".
std::pair<std::string_view, std::string_view> library_name(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  file = file.substr(0, file.find(' '));
  const auto so = file.find(".so");
  if (so == std::string_view::npos) return {};
  const std::string_view rest = file.substr(so + 3);
  if (!rest.empty() && rest.front() != '.') return {};
  return {file.substr(0, so), rest.empty() ? rest : rest.substr(1)};
}

bool tells_of_communication(std::string_view name) {
  constexpr std::string_view kNames[] = {"libnccl", "libcudart",  "libcuda", "libtorch_cpu",
                                         "libgloo", "libibverbs", "libucp"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.starts_with("libnccl-net");
}

// Returns the sixth column, which may hold spaces.
std::string_view path_of(std::string_view line) {
  for (int column = 0; column < 5; ++column) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  return line;
}

std::string_view runtime_of(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"kubepods", "kubernetes"}, {"cri-containerd", "kubernetes"},
      {"crio", "kubernetes"},     {"libpod", "podman"},
      {"docker", "docker"},       {"lxc", "lxc"}};
  for (const auto& [mark, runtime] : kMarks)
    if (path.find(mark) != std::string_view::npos) return runtime;
  return "";
}

// Returns the job of Slurm's folder for it, which is the third: below the scope of slurmstepd, whose name may begin with
// the node's, or below the user's folder.
std::string slurm_job_in(const std::vector<std::string_view>& pieces) {
  constexpr std::string_view kJob = "job_";
  if (pieces.size() < 3 || !pieces[2].starts_with(kJob)) return "";
  const bool second = pieces[0] == "system.slice" && pieces[1].ends_with("slurmstepd.scope");
  const bool first = pieces[0].starts_with("slurm") && pieces[1].starts_with("uid_");
  const std::string_view job = pieces[2].substr(kJob.size());
  return (first || second) && is_slurm_job(job) ? std::string(job) : "";
}

// Returns the pod's identifier: of "kubepods-burstable-pod<uid>.slice", where systemd has "_" for "-", or of "pod<uid>".
std::string pod_uid_in(std::string_view piece) {
  constexpr std::string_view kPod = "pod";
  constexpr std::size_t kUuid = 36, kStatic = 32;
  if (piece.ends_with(".slice")) piece.remove_suffix(6);
  if (const auto dash = piece.rfind("-pod"); dash != std::string_view::npos && piece.starts_with("kube"))
    piece.remove_prefix(dash + 1);
  if (!piece.starts_with(kPod)) return "";
  std::string uid(piece.substr(kPod.size()));
  std::ranges::replace(uid, '_', '-');
  std::string digits = uid;
  std::erase(digits, '-');
  const bool whole = (uid.size() == kUuid && digits.size() == kStatic) || uid.size() == kStatic;
  return whole && is_hex(digits) && (uid.size() == kUuid || digits == uid) ? uid : "";
}

}  // namespace

bool is_kept_variable(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"NCCL_", "UCX_", "GLOO_", "TP_SOCKET_"};
  constexpr std::string_view kNames[] = {
      "VLLM_HOST_IP", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "MASTER_ADDR", "RANK",
      "LOCAL_RANK",   "WORLD_SIZE",           "LOCAL_WORLD_SIZE"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view one) { return name.starts_with(one); }) ||
         std::ranges::find(kNames, name) != std::end(kNames);
}

std::optional<std::string> variable_of(std::string_view environ, std::string_view name) {
  std::optional<std::string> found;
  each_variable(environ, [&](std::string_view one, std::string_view value) {
    if (one != name) return true;
    if (value.size() <= kLongestPath && !has_control(value)) found = std::string(value);
    return false;
  });
  return found;
}

std::map<std::string, std::string> kept_variables(std::string_view environ) {
  std::map<std::string, std::string> found;
  each_variable(environ, [&](std::string_view name, std::string_view value) {
    const bool fits = name.size() <= 128 && value.size() <= kLongestValue;
    if (is_kept_variable(name) && fits && is_plain_word(name, 128) && !has_control(value))
      found.emplace(name, value);  // the first counts: getenv(3)
    return found.size() < kMostVariables;
  });
  return found;
}

std::optional<std::uint64_t> soft_limit(std::string_view limits, std::string_view name) {
  for (const auto line : lines(limits)) {
    if (!line.starts_with(name)) continue;
    const auto columns = words(line.substr(name.size()));
    if (columns.empty()) return std::nullopt;
    return columns[0] == "unlimited" ? UINT64_MAX : parse_number<std::uint64_t>(columns[0]);
  }
  return std::nullopt;
}

std::optional<StatLine> parse_stat(std::string_view stat) {
  const auto end = stat.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  const auto fields = words(stat.substr(end + 1));  // begins with field 3
  if (fields.size() < 20) return std::nullopt;
  const auto parent = parse_number<int>(fields[1]);
  const auto started = parse_number<std::uint64_t>(fields[19]);
  if (!parent || !started) return std::nullopt;
  return StatLine{*parent, *started};
}

std::optional<StatusLines> parse_status(std::string_view status) {
  StatusLines found;
  bool user = false;
  for (const auto line : lines(status)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto columns = words(pair->second);
    if (pair->first == "Uid" && columns.size() == 4) {
      found.user = parse_number<int>(columns[1]).value_or(-1);  // the effective one
      user = true;
    }
    if (pair->first == "Gid" && columns.size() == 4)
      found.groups.insert(parse_number<int>(columns[1]).value_or(-1));
    if (pair->first == "Groups")
      for (const auto group : columns) found.groups.insert(parse_number<int>(group).value_or(-1));
    if (pair->first == "CapEff")
      found.capabilities = parse_number<std::uint64_t>(pair->second, 16).value_or(0);
  }
  if (!user) return std::nullopt;
  return found;
}

ContainerName container_of(std::string_view cgroup) {
  constexpr std::size_t kDigits = 64;  // container identifiers are SHA-256 sums
  for (const auto line : lines(cgroup.substr(0, 64 << 10))) {
    const auto path = line.substr(std::min(line.find('/'), line.size()));
    const auto pieces = split(path, '/');
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      std::string_view name = *piece;
      if (name.ends_with(".scope")) name.remove_suffix(6);
      if (name.size() > kDigits) name = name.substr(name.size() - kDigits);
      if (name.size() == kDigits && is_hex(name)) return {std::string(name), std::string(runtime_of(path))};
    }
  }
  return {};
}

bool is_slurm_job(std::string_view text) {
  return !text.empty() && text.size() <= 10 && std::ranges::all_of(text, is_digit);
}

CgroupJob job_of(std::string_view cgroup) {
  CgroupJob found;
  for (const auto line : lines(cgroup.substr(0, 64 << 10))) {
    const auto path = line.substr(std::min(line.find('/'), line.size()));
    auto pieces = split(path, '/');
    std::erase_if(pieces, [](std::string_view piece) { return piece.empty() || piece == ".."; });
    if (std::ranges::find(pieces, "user.slice") != pieces.end()) continue;
    if (found.slurm_job.empty()) found.slurm_job = slurm_job_in(pieces);
    for (const std::string_view piece : pieces)
      if (found.pod_uid.empty() && path.find("kubepods") != std::string_view::npos)
        found.pod_uid = pod_uid_in(piece);
  }
  return found;
}

std::vector<MappedFile> mapped_libraries(std::string_view maps) {
  std::vector<MappedFile> found;
  while (!maps.empty() && found.size() < kMostLibraries) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (line.find("/lib") == std::string_view::npos) continue;
    const std::string_view path = path_of(line);
    const auto [name, version] = library_name(path);
    if (!path.starts_with('/') || path.size() > kLongestPath || has_control(path)) continue;
    if (!tells_of_communication(name)) continue;
    const auto known = [&](const MappedFile& file) { return file.library.path == path; };
    if (std::ranges::any_of(found, known)) continue;
    // "libnccl.so.2" has no useful version; "libcudart.so.12" has only the major version.
    const bool whole = name != "libnccl" || version.find('.') != std::string_view::npos;
    found.push_back({{std::string(name), std::string(path), whole ? std::string(version) : ""},
                     std::string(line.substr(0, line.find('-')))});
  }
  return found;
}

std::vector<std::string> addresses_of(std::string_view hosts, std::string_view name) {
  std::vector<std::string> found;
  for (const auto line : lines(hosts)) {
    const auto columns = words(line.substr(0, line.find('#')));
    if (columns.size() < 2 || found.size() >= 16) continue;
    const auto address = IpAddress::parse(columns[0]);
    if (address && std::find(columns.begin() + 1, columns.end(), name) != columns.end())
      found.push_back(address->to_text());
  }
  return found;
}

std::string nccl_lines(std::string_view conf) {
  std::string kept;
  while (!conf.empty()) {
    const std::string_view line = conf.substr(0, conf.find('\n'));
    conf.remove_prefix(std::min(line.size() + 1, conf.size()));
    if (line.find("NCCL_") != std::string_view::npos && line.size() <= 2 * kLongestValue) kept += line;
    kept.push_back('\n');  // so that line numbers stay
  }
  return kept;
}

}  // namespace railbed
