// Reads the properties of other users' processes.
//
// A process may end at any moment and its pid may be reused. So all of /proc/PID is read through one
// descriptor of that folder, which stays with the process it was opened for and fails with ESRCH after that
// has ended. Files in its root are opened by openat2() with RESOLVE_IN_ROOT: none of its links, even one that
// is changed at that moment, leads out of there. All of it happens in a child with a deadline, because a
// container may have a file system that never responds.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/folder_names.h"
#include "base/json.h"
#include "base/text.h"
#include "host/process_text.h"
#include "os/errno_name.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::size_t kMostText = 1 << 20;
constexpr std::size_t kMostMaps = 16 << 20;  // some ten thousand mappings
constexpr std::size_t kMostTcp = 16 << 20;   // a hundred thousand sockets
constexpr std::size_t kMostFiles = 1 << 16;  // open files of one process
constexpr std::size_t kMostScannedPids = 1 << 16;
constexpr auto kPatience = std::chrono::seconds(8);

Reading<std::string> read_all(const Fd& fd, std::size_t limit, const std::string& from) {
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return {miss_of(errno), from};
  if (!S_ISREG(status.st_mode)) return {miss_of(EINVAL), from};
  std::string content;
  std::array<char, 1 << 16> piece;
  while (content.size() < limit) {
    const ssize_t got = read(fd.get(), piece.data(), std::min(piece.size(), limit - content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {miss_of(errno), from};
    if (got == 0) break;
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
  return {std::move(content), from};
}

std::optional<std::string> link_at(int folder, const char* name) {
  std::array<char, kLongestPath> target;
  const ssize_t size = readlinkat(folder, name, target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::vector<std::string> names_of(Fd fd) {
  auto names = folder_names(std::move(fd), kMostFiles).value_or(std::vector<std::string>());
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  return names;
}

// /proc/PID, and the process's root folder.
class ProcessFolder {
 public:
  explicit ProcessFolder(int pid)
      : path_(fmt::format("/proc/{}", pid)), folder_(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!folder_) return;
    root_ = Fd(openat(folder_.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
    root_error_ = root_ ? 0 : errno;
  }

  explicit operator bool() const { return static_cast<bool>(folder_); }
  int fd() const { return folder_.get(); }
  std::string path(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

  Reading<std::string> read(const char* name, std::size_t limit = kMostText) const {
    return read_all(Fd(openat(folder_.get(), name, O_RDONLY | O_CLOEXEC)), limit, path(name));
  }
  // `name` is relative to the process's root, without a slash in front.
  Fd open_inside(const std::string& name, int flags) const {
    open_how how = {};
    const int quiet =
        (flags & O_PATH) != 0 ? 0 : O_NOCTTY | O_NONBLOCK;  // openat2() takes no other beside O_PATH
    how.flags = static_cast<std::uint64_t>(flags | quiet | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    if (!root_) errno = root_error_;
    return root_ ? Fd(static_cast<int>(syscall(SYS_openat2, root_.get(), name.c_str(), &how, sizeof how)))
                 : Fd();
  }
  Reading<std::string> read_inside(const std::string& name) const {
    return read_all(open_regular(name), kMostText, path("root/" + name));
  }
  // Opens a regular file only: opening a device may already change something.
  Fd open_regular(const std::string& name) const {
    const Fd look = open_inside(name, O_PATH);
    struct stat status = {};
    if (!look || fstat(look.get(), &status) != 0) return {};
    if (S_ISREG(status.st_mode)) return open_inside(name, O_RDONLY);
    errno = EINVAL;
    return {};
  }

 private:
  std::string path_;
  Fd folder_, root_;
  int root_error_ = 0;
};

bool may_use(const struct stat& node, const StatusLines& who) {
  if (who.has(CAP_DAC_OVERRIDE)) return true;
  const auto user = static_cast<int>(node.st_uid), group = static_cast<int>(node.st_gid);
  const unsigned shift = user == who.user ? 6 : who.groups.contains(group) ? 3 : 0;
  return ((node.st_mode >> shift) & 6) == 6;
}

Reading<std::vector<DeviceNode>> device_nodes(const ProcessFolder& process, const std::string& folder,
                                              std::string_view prefix, const StatusLines& who) {
  const std::string from = process.path("root/" + folder);
  Fd fd = process.open_inside(folder, O_RDONLY | O_DIRECTORY);
  if (!fd) return {miss_of(errno), from};
  std::vector<DeviceNode> found;
  for (const auto& name : names_of(std::move(fd))) {
    const bool wanted = name.starts_with(prefix) && name.size() > prefix.size();
    if (!wanted || found.size() >= 256) continue;
    if (prefix == "nvidia" && !is_digit(name[prefix.size()])) continue;
    const Fd node = process.open_inside(folder + "/" + name, O_PATH);
    struct stat status = {};
    if (node && fstat(node.get(), &status) == 0 && S_ISCHR(status.st_mode))
      found.push_back({name, may_use(status, who)});
  }
  return {std::move(found), from};
}

Reading<std::uint64_t> shared_memory(const ProcessFolder& process) {
  const std::string from = process.path("root/dev/shm");
  const Fd fd = process.open_inside("dev/shm", O_PATH | O_DIRECTORY);
  struct statvfs status = {};
  if (!fd || fstatvfs(fd.get(), &status) != 0) return {miss_of(errno), from};
  return {status.f_blocks * status.f_frsize, from};
}

struct OpenFiles {
  Reading<int> count;
  std::vector<std::string> devices;
  std::set<std::uint64_t> sockets;
};

OpenFiles open_files(const ProcessFolder& process) {
  const std::string from = process.path("fd");
  OpenFiles found;
  Fd folder(openat(process.fd(), "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    found.count = {miss_of(errno), from};
    return found;
  }
  const Fd at(openat(process.fd(), "fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto names = names_of(std::move(folder));
  for (const auto& name : names) {
    const std::string target = link_at(at.get(), name.c_str()).value_or("");
    if (target.starts_with("socket:[") && target.ends_with("]"))
      found.sockets.insert(parse_number<std::uint64_t>(target.substr(8, target.size() - 9)).value_or(0));
    const bool device = target.starts_with("/dev/nvidia") || target.starts_with("/dev/infiniband/");
    const bool known = std::ranges::find(found.devices, target) != found.devices.end();
    if (device && !known && is_plain_word(target, 64) && found.devices.size() < 256)
      found.devices.push_back(target);
  }
  std::ranges::sort(found.devices);
  found.count = {static_cast<int>(names.size()), from};
  return found;
}

// Returns whether the namespace is railbed's own: then railbed and the process see the same of the node.
Reading<bool> same_namespace(const ProcessFolder& process, const std::string& kind) {
  const std::string name = "ns/" + kind;
  const auto its = link_at(process.fd(), name.c_str());
  if (!its) return {miss_of(errno), process.path(name)};
  const auto own = link_at(AT_FDCWD, ("/proc/self/ns/" + kind).c_str());
  if (!own) return {miss_of(errno), "/proc/self/ns/" + kind};
  return {*its == *own, process.path(name)};
}

void look_at_libraries(const ProcessFolder& process, ProcessAnswer& answer) {
  answer.libraries = process.read("maps", kMostMaps).parsed([&](const std::string& maps) {
    std::vector<MappedLibrary> found;
    for (MappedFile& mapped_file : mapped_libraries(maps)) {
      if (mapped_file.library.name == "libnccl") {
        const Fd file = process.open_regular(mapped_file.library.path.substr(1));
        const NcclText text = file ? nccl_text_in(file.get()) : NcclText{};
        if (!text.version.empty()) mapped_file.library.version = text.version;
        mapped_file.library.built_for = text.built_for;
      }
      found.push_back(std::move(mapped_file.library));
    }
    return std::optional(std::move(found));
  });
}

void look_at_network(const ProcessFolder& process, const OpenFiles& files, ProcessAnswer& answer) {
  const auto dev = process.read("net/dev");
  const auto text = [&](const char* name) { return process.read(name).value_or(""); };
  answer.interfaces = dev.parsed([&](const std::string& names) {
    return std::optional(
        interfaces_of({names, text("net/route"), text("net/fib_trie"), text("net/if_inet6")}));
  });
  if (!files.count) {
    answer.flows = {files.count.miss(), files.count.from()};
    return;
  }
  answer.flows = process.read("net/tcp", kMostTcp).parsed([&](const std::string& tcp) {
    auto flows = flows_of(tcp + process.read("net/tcp6", kMostTcp).value_or(""), files.sockets);
    name_interfaces(flows, answer.interfaces.value_or({}));
    return std::optional(std::move(flows));
  });
}

// Reads the variables at the start of the process, and its own files, whose places depend on them.
void look_at_environment(const ProcessFolder& process, ProcessAnswer& answer) {
  const auto environ = process.read("environ");
  answer.environment =
      environ.parsed([](const std::string& text) { return std::optional(kept_variables(text)); });
  const std::string text = environ.value_or("");
  const auto inside = [](std::string path) { return path.starts_with('/') ? path.substr(1) : path; };
  const auto named = variable_of(text, "NCCL_CONF_FILE").value_or("");
  const auto home = variable_of(text, "HOME").value_or("/root");
  const auto lines_only = [](const std::string& conf) {
    return std::optional(json::Lines{nccl_lines(conf)});
  };
  answer.user_conf =
      process.read_inside(inside(named.empty() ? home + "/.nccl.conf" : named)).parsed(lines_only);
  answer.system_conf = process.read_inside("etc/nccl.conf").parsed(lines_only);
  answer.hostname = process.read_inside("etc/hostname").parsed([](const std::string& file) {
    return std::optional(printable(trim(file.substr(0, 256))));
  });
  if (const auto name = variable_of(text, "HOSTNAME"); !answer.hostname && name && !name->empty())
    answer.hostname = {*name, process.path("environ")};
  const std::string name = answer.hostname.value_or("");
  answer.hostname_addresses = process.read_inside("etc/hosts").parsed([&](const std::string& hosts) {
    return std::optional(addresses_of(hosts, name));
  });
}

void look_at_limits(const ProcessFolder& process, const StatusLines& who, ProcessAnswer& answer) {
  const auto limits = process.read("limits");
  answer.locked_memory =
      limits.parsed([](const std::string& text) { return soft_limit(text, "Max locked memory"); });
  answer.file_limit =
      limits.parsed([](const std::string& text) { return soft_limit(text, "Max open files"); });
  for (const char* const kind : {"net", "mnt", "user"}) answer.shares[kind] = same_namespace(process, kind);
  // The kernel checks the capability in the initial user namespace (ib_umem_get,
  // drivers/infiniband/core/umem.c).
  const bool first = answer.shares["user"].value_or(false);
  answer.may_lock_memory = {first && who.has(CAP_IPC_LOCK), process.path("status")};
}

// Returns the JSON; empty if the process has ended.
std::string look_at(int pid) {
  const ProcessFolder process(pid);
  const auto stat = process ? process.read("stat") : Reading<std::string>();
  const auto line = parse_stat(stat.value_or(""));
  const auto who = process ? parse_status(process.read("status").value_or("")) : std::nullopt;
  if (!line || !who) return "";
  ProcessAnswer answer;
  answer.pid = pid;
  answer.parent = line->parent;
  answer.started = line->started;
  answer.user = who->user;
  answer.name = printable(trim(process.read("comm").value_or("")));
  const ContainerName container = container_of(process.read("cgroup").value_or(""));
  answer.container = container.id;
  answer.runtime = container.runtime;
  look_at_environment(process, answer);
  look_at_limits(process, *who, answer);
  answer.rdma_nodes = device_nodes(process, "dev/infiniband", "uverbs", *who);
  answer.gpu_nodes = device_nodes(process, "dev", "nvidia", *who);
  answer.shared_memory = shared_memory(process);
  look_at_libraries(process, answer);
  const OpenFiles files = open_files(process);
  answer.files = files.count;
  answer.open_devices = files.count.parsed([&](int) { return std::optional(files.devices); });
  look_at_network(process, files, answer);
  // If it is still there, all of the above is of one process.
  return process.read("stat") ? json::dump(json::encode(answer)) : "";
}

bool is_wanted(const ProcessBrief& brief, std::string_view which) {
  return which == "nccl" ? !brief.nccl.empty() : brief.container.starts_with(which);
}

void look_briefly(int pid, std::string_view which, ProcessList& list) {
  const ProcessFolder process(pid);
  const auto line = process ? parse_stat(process.read("stat").value_or("")) : std::nullopt;
  if (!line) return;
  ProcessBrief brief{.pid = pid, .parent = line->parent, .name = "", .container = "", .nccl = ""};
  brief.container = container_of(process.read("cgroup").value_or("")).id;
  if (which != "nccl" && !brief.container.starts_with(which)) return;
  const auto maps = process.read("maps", kMostMaps);
  if (!maps && maps.miss() == miss_of(EACCES)) ++list.not_allowed;
  for (const MappedFile& file : mapped_libraries(maps.value_or("")))
    if (file.library.name == "libnccl" && brief.nccl.empty()) {
      brief.nccl = file.library.path;
      brief.nccl_at = file.address;
    }
  if (!is_wanted(brief, which)) return;
  brief.name = printable(trim(process.read("comm").value_or("")));
  if (list.found.size() < kMostProcesses)
    list.found.push_back(std::move(brief));
  else
    ++list.too_many;
}

std::string look_at_all(std::string_view which) {
  ProcessList list;
  std::size_t seen = 0;
  for (const auto& name : names_of(Fd(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC))))
    if (const auto pid = parse_number<int>(name); pid && *pid != getpid() && ++seen <= kMostScannedPids)
      look_briefly(*pid, which, list);
  return json::dump(json::encode(list));
}

// Returns how many ranks the job has, as its launcher wrote it into the environment; 0 if none did.
int ranks_in(std::string_view environ) {
  for (const char* const name : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    if (const auto value = variable_of(environ, name))
      if (const auto ranks = parse_number<int>(*value); ranks && *ranks > 0) return *ranks;
  return 0;
}

std::optional<ProcessJob> job_of_process(int pid) {
  const ProcessFolder process(pid);
  const auto who = process ? parse_status(process.read("status").value_or("")) : std::nullopt;
  const auto cgroup = process ? process.read("cgroup") : Reading<std::string>();
  if (!who || !cgroup) return std::nullopt;
  const CgroupJob job = job_of(*cgroup);
  ProcessJob found{.pid = pid,
                   .user = who->user,
                   .slurm_job = job.slurm_job,
                   .pod_uid = job.pod_uid,
                   .container = container_of(*cgroup).id};
  const std::string environ = process.read("environ").value_or("");
  found.ranks = ranks_in(environ);
  const std::string named = variable_of(environ, "SLURM_JOB_ID").value_or("");
  if (found.slurm_job.empty() && found.pod_uid.empty() && is_slurm_job(named)) found.slurm_job = named;
  return found;
}

std::string jobs_of(const std::vector<int>& pids) {
  std::vector<ProcessJob> found;
  for (const int pid : pids)
    if (auto job = job_of_process(pid)) found.push_back(std::move(*job));
  return json::dump(json::encode(found));
}

std::string names_of_users(const std::vector<int>& users) {
  UserNames names;
  std::vector<char> buffer(1 << 16);
  for (const int user : users) {
    passwd entry = {};
    passwd* found = nullptr;
    const int failed = getpwuid_r(static_cast<uid_t>(user), &entry, buffer.data(), buffer.size(), &found);
    if (failed == 0 && found != nullptr) names.emplace(std::to_string(user), printable(entry.pw_name));
  }
  return json::dump(json::encode(names));
}

// Returns the numbers of a list "1,2,3"; nullopt if it is none, or has too many.
std::optional<std::vector<int>> numbers_of(std::string_view list) {
  std::vector<int> numbers;
  for (const auto piece : split(list, ',')) {
    const auto number = parse_number<int>(piece);
    if (!number || *number < 0 || numbers.size() >= kMostJobPids) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Reading<std::string> ask_about(const std::string& name, std::string_view list, std::chrono::seconds patience,
                               std::string (*answer)(const std::vector<int>&)) {
  const auto numbers = numbers_of(list);
  if (!numbers) return {Miss{Missing::kUnsupported, "no such call"}, name};
  return ask_in_child(
      name, [&](const Say&) { return answer(*numbers); }, patience);
}

}  // namespace

Reading<std::string> call_jobs(std::string_view pids) {
  return ask_about("jobs " + std::string(pids), pids, kPatience, jobs_of);
}

Reading<std::string> call_user_names(std::string_view users) {
  // Accounts of a directory service may take long, or never answer.
  return ask_about("user-names " + std::string(users), users, std::chrono::seconds(2), names_of_users);
}

Reading<std::string> call_processes(std::string_view which) {
  const std::string name = "processes " + std::string(which);
  const bool id = which.size() >= 12 && which.size() <= 64 &&
                  which.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (which != "nccl" && !id) return {Miss{Missing::kUnsupported, "no such call"}, name};
  return ask_in_child(
      name, [&](const Say&) { return look_at_all(which); }, kPatience);
}

Reading<std::string> call_process(int pid) {
  const std::string name = fmt::format("process {}", pid);
  auto answer = ask_in_child(
      name, [&](const Say&) { return look_at(pid); }, kPatience);
  if (answer && answer->empty())
    return {Miss{Missing::kAbsent, "no such process, or it ended meanwhile"}, name};
  return answer;
}

}  // namespace railbed
