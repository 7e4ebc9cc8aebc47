#include "facts/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "facts/nccl_file.h"
#include "host/host.h"

namespace railbed {
namespace {

struct QueuePairLine {
  std::string ifname;
  int port = 0;
  std::string type;
  std::string state;
  int pid = 0;
  FIELDS(QueuePairLine, ifname, port, type, state, pid);
};

// The node's data that every process is compared with; read once.
struct Node {
  Host& host;
  Reading<std::string> queue_pairs;
  std::map<std::string, std::string> device_of;  // uverbs0 → mlx5_0
};

Node look_at_node(Host& host) {
  const auto output = host.run({"rdma", "-j", "resource", "show", "qp"});
  Node node{host,
            output.parsed([](const CommandOutput& seen) {
              return seen.exit_code == 0 ? std::optional(seen.output) : std::nullopt;
            }),
            {}};
  const std::string folder = "/sys/class/infiniband_verbs";
  for (const auto& name : host.list(folder).value_or({}))
    if (const auto device = host.read_line(folder + "/" + name + "/ibdev"); device)
      node.device_of.emplace(name, *device);
  return node;
}

// Returns the RDMA devices whose uverbs node the process may read and write.
Reading<std::vector<std::string>> usable_devices(const Node& node, const ProcessAnswer& seen) {
  return seen.rdma_nodes.parsed([&](const std::vector<DeviceNode>& nodes) {
    std::vector<std::string> found;
    for (const DeviceNode& device_node : nodes)
      if (const auto device = node.device_of.find(device_node.name);
          device_node.usable && device != node.device_of.end())
        found.push_back(device->second);
    return std::optional(std::move(found));
  });
}

void mask_secrets(std::vector<NcclVariable>& variables) {
  for (NcclVariable& variable : variables)
    if (looks_secret(variable.value)) variable.value = "masked";
}

Reading<std::vector<NcclVariable>> variables_of(const Reading<std::string>& file) {
  return file.parsed([&](const std::string& text) {
    auto variables = parse_nccl_file(text, file.from());
    mask_secrets(variables);
    return std::optional(std::move(variables));
  });
}

// Returns NCCL's inputs of a process. Masks values that look like secrets, also in `seen`.
Nccl nccl_of(ProcessAnswer& seen) {
  Nccl nccl;
  seen.environment = seen.environment.parsed([](std::map<std::string, std::string> all) {
    for (auto& [name, value] : all)
      if (looks_secret(value)) value = "masked";
    return std::optional(std::move(all));
  });
  nccl.environment = seen.environment.parsed([](const std::map<std::string, std::string>& all) {
    std::vector<NcclVariable> found;
    for (const auto& [name, value] : all)
      if (is_nccl_name(name)) found.push_back({name, value, "environment"});
    return std::optional(std::move(found));
  });
  nccl.user_file = variables_of(seen.user_conf);
  nccl.system_file = variables_of(seen.system_conf);
  nccl.library = {Miss{Missing::kAbsent, "no libnccl is mapped, or it does not say its version"},
                  seen.libraries.from()};
  for (const MappedLibrary& library : items(seen.libraries))
    if (library.name == "libnccl" && !library.version.empty())
      nccl.library = {NcclFile{library.path, library.version}, seen.libraries.from()};
  return nccl;
}

Result<Process> look_at_process(const Node& node, int pid) {
  const auto answer = node.host.call(fmt::format("process {}", pid));
  if (!answer) return fail(ErrorKind::kUnavailable, fmt::format("process {}: {}", pid, answer.miss().why));
  auto seen = json::read<ProcessAnswer>(*answer);
  if (!seen) return fail(seen.error(), fmt::format("process {}", pid));
  Process process{.seen = std::move(*seen), .queue_pairs = {}, .rdma_devices = {}, .nccl = {}};
  process.queue_pairs =
      node.queue_pairs.parsed([&](const std::string& text) { return parse_queue_pairs(text, pid); });
  process.rdma_devices = usable_devices(node, process.seen);
  process.nccl = nccl_of(process.seen);
  return process;
}

Result<ProcessList> list_processes(Host& host, const std::string& which) {
  const auto answer = host.call("processes " + which);
  if (!answer) return fail(ErrorKind::kUnavailable, "looking for processes: " + answer.miss().why);
  return json::read<ProcessList>(*answer);
}

std::set<std::uint64_t> sockets_of(const Process& process) {
  std::set<std::uint64_t> all;
  for (const TcpFlow& flow : items(process.seen.flows)) all.insert(flow.sockets.begin(), flow.sockets.end());
  return all;
}

bool helps_another(const SeenProcess& process, const std::vector<SeenProcess>& all) {
  return std::ranges::any_of(all,
                             [&](const SeenProcess& parent) { return is_forked_helper(process, parent); });
}

// Removes the inodes of sockets, which are only needed to recognize forked helpers.
Process without_sockets(Process process) {
  process.seen.flows = process.seen.flows.parsed([](std::vector<TcpFlow> flows) {
    for (TcpFlow& flow : flows) flow.sockets.clear();
    return std::optional(std::move(flows));
  });
  return process;
}

// Examines each process and removes forked helpers. A process that ended meanwhile is not an error.
Processes look_at_each(Host& host, const ProcessList& list, std::vector<ProcessBrief> wanted) {
  const Node node = look_at_node(host);
  Processes all;
  const std::size_t beyond = wanted.size() > kMostLookedAt ? wanted.size() - kMostLookedAt : 0;
  if (beyond > 0) wanted.resize(kMostLookedAt);
  std::vector<SeenProcess> looked;
  for (const ProcessBrief& brief : wanted)
    if (auto process = look_at_process(node, brief.pid)) looked.push_back({std::move(*process), brief});
  for (const SeenProcess& process : looked)
    if (!helps_another(process, looked)) all.found.push_back(without_sockets(process.process));
  const std::size_t helpers = looked.size() - all.found.size();
  const auto note = [&](std::size_t count, std::string_view what) {
    if (count > 0) all.left_out.push_back(fmt::format("{} {}", count, what));
  };
  note(helpers, "forked helpers of them, such as loaders of data");
  note(static_cast<std::size_t>(std::max(list.not_allowed, 0)),
       "processes that only root may look at: run railbed as root to see other users' jobs");
  note(beyond + static_cast<std::size_t>(std::max(list.too_many, 0)),
       "more processes, at which railbed did not look");
  return all;
}

// Returns the container's identifier, from docker, else from podman.
Result<std::string> container_id(Host& host, const std::string& name) {
  const bool is_id = name.size() >= 12 && name.size() <= 64 &&
                     name.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_id) return name;
  if (!is_container_name(name))
    return fail(ErrorKind::kBadInput, "--container: a name has letters, digits, \"_\", \".\" and \"-\"");
  std::string why;
  for (const char* const program : {"docker", "podman"}) {
    const auto output = host.run({program, "inspect", "--type", "container", "--format", "{{.Id}}", name});
    const std::string id(trim(output ? std::string_view(output->output) : ""));
    const bool whole = id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (output && output->exit_code == 0 && whole) return id;
    why += fmt::format("\n  {}: {}", program,
                       !output ? output.miss().why : std::string(trim(printable(output->error_output))));
  }
  return fail(ErrorKind::kUnavailable,
              fmt::format("container {} was not found{}\nGive 12 or more digits of its identifier instead "
                          "(docker ps, podman ps, crictl ps), or --pid.",
                          name, why));
}

}  // namespace

bool is_container_name(std::string_view name) {
  const auto letter = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= 128 && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || c == '_' || c == '.' || c == '-'; });
}

std::optional<std::vector<QueuePairs>> parse_queue_pairs(const std::string& output, int pid) {
  const auto lines = json::read<std::vector<QueuePairLine>>(trim(output).empty() ? "[]" : output);
  if (!lines) return std::nullopt;
  std::vector<QueuePairs> found;
  for (const QueuePairLine& line : *lines) {
    if (line.pid != pid) continue;
    const auto same = [&](const QueuePairs& pairs) {
      return pairs.device == line.ifname && pairs.port == line.port && pairs.type == line.type &&
             pairs.state == line.state;
    };
    if (const auto known = std::ranges::find_if(found, same); known != found.end())
      ++known->count;
    else
      found.push_back({line.ifname, line.port, line.type, line.state, 1});
  }
  return found;
}

bool is_forked_helper(const SeenProcess& child, const SeenProcess& parent) {
  const ProcessBrief &its = child.brief, &other = parent.brief;
  const bool forked = its.parent == other.pid && !its.nccl_at.empty() && its.nccl_at == other.nccl_at &&
                      its.nccl == other.nccl;
  if (!forked || !items(child.process.queue_pairs).empty()) return false;
  const auto inherited = sockets_of(parent.process);
  return std::ranges::includes(inherited, sockets_of(child.process));
}

Result<Processes> collect_process(Host& host, int pid) {
  ASSIGN_OR_RETURN(auto process, look_at_process(look_at_node(host), pid));
  Processes all;
  all.found.push_back(without_sockets(std::move(process)));
  return all;
}

Result<Processes> collect_running(Host& host) {
  ASSIGN_OR_RETURN(const auto list, list_processes(host, "nccl"));
  return look_at_each(host, list, list.found);
}

Result<Processes> collect_container(Host& host, const std::string& name) {
  ASSIGN_OR_RETURN(const auto id, container_id(host, name));
  ASSIGN_OR_RETURN(const auto list, list_processes(host, id));
  if (list.found.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("no process runs in container {}", name));
  auto wanted = list.found;
  std::erase_if(wanted, [](const ProcessBrief& brief) { return brief.nccl.empty(); });
  if (wanted.empty()) wanted.push_back(*std::ranges::min_element(list.found, {}, &ProcessBrief::pid));
  return look_at_each(host, list, wanted);
}

}  // namespace railbed
