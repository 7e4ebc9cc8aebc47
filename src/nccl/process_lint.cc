#include "nccl/process_lint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "nccl/process_view.h"
#include "nccl/settings.h"

namespace railbed::nccl {
namespace {

// NCCL's first contact and PyTorch's store use one or two connections each; a channel over TCP uses two more
// in each direction (NCCL src/transport/net_socket.cc).
constexpr int kFewestOfData = 4;

bool has_rdma_open(const Process& process) {
  return std::ranges::any_of(items(process.seen.open_devices), [](const std::string& one) {
    return one.starts_with("/dev/infiniband/uverbs");
  });
}

// True if the process's queue pairs can be listed: those of another network namespace are listed only if
// devices are shared between namespaces.
bool lists_its_queue_pairs(const Process& process, const Facts& node) {
  const auto net = process.seen.shares.find("net");
  const bool same = net != process.seen.shares.end() && net->second.value_or(false);
  return process.queue_pairs.ok() && (same || node.rdma.shared_netns.value_or(false));
}

std::string connected_on(const Process& process) {
  int count = 0;
  std::set<std::string> ports;
  for (const QueuePairs& pairs : items(process.queue_pairs)) {
    if (pairs.state != "RTS" || pairs.type == "UD" || pairs.type == "GSI") continue;
    count += pairs.count;
    ports.insert(fmt::format("{}:{}", pairs.device, pairs.port));
  }
  if (count == 0) return "";
  return fmt::format("{} connected queue pairs on {}", count, fmt::join(ports, ", "));
}

std::string connections_text(const Process& process) {
  std::set<std::string> peers, interfaces;
  for (const TcpFlow& flow : items(process.seen.flows)) {
    if (is_loopback(flow.remote) || flow.local == flow.remote) continue;
    peers.insert(flow.remote);
    if (!flow.interface.empty()) interfaces.insert(flow.interface);
  }
  const int count = remote_connections(process);
  return fmt::format("{} TCP connection{} to {} address{}{}", count, count == 1 ? "" : "s", peers.size(),
                     peers.size() == 1 ? "" : "es",
                     interfaces.empty() ? "" : fmt::format(" over {}", fmt::join(interfaces, ", ")));
}

NetInterface interface_of_process(const SeenInterface& seen, const std::string& from) {
  NetInterface interface;
  interface.name = seen.name;
  std::vector<InterfaceAddress> addresses;
  for (const std::string& text : seen.addresses) {
    const auto pair = key_value(text, '/');
    const auto address = pair ? IpAddress::parse(pair->first) : std::nullopt;
    if (address) addresses.push_back({*address, parse_number<int>(pair->second).value_or(0)});
  }
  interface.addresses = {std::move(addresses), from};
  return interface;
}

// Gloo connects nodes before NCCL starts: without another cause, NCCL may just not have begun.
void lint_use(ProcessView& view) {
  if (view.uses.network != "TCP" || !view.node_has_rdma()) return;
  const auto explains = [](const ProcessComplaint& complaint) {
    return complaint.severity == Severity::kError;
  };
  const bool explained = std::ranges::any_of(view.complaints, explains) || !view.wants_rdma();
  std::string remedy = "Run one rank with NCCL_DEBUG=INFO, then: railbed nccl --log FILE";
  if (explained)
    remedy = "What is said beside this is the likely cause; start the job anew after it is mended.";
  else if (view.process.seen.libraries.ok() && !view.has("libibverbs"))
    remedy =
        "libibverbs is not loaded. Unless NCCL has yet to begin, it is missing where the job runs: install "
        "libibverbs1 and ibverbs-providers (Debian, Ubuntu), or libibverbs and rdma-core (RHEL).";
  view.say(explained ? Severity::kError : Severity::kWarning, "tcp-in-use",
           fmt::format("sends over TCP on a node that has RDMA: {}{}", view.uses.why,
                       explained ? "" : "; or NCCL has not begun"),
           std::move(remedy));
}

}  // namespace

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

int remote_connections(const Process& process) {
  int count = 0;
  for (const TcpFlow& flow : items(process.seen.flows))
    if (!is_loopback(flow.remote) && flow.local != flow.remote) count += flow.connections;
  return count;
}

void ProcessView::say(Severity severity, std::string_view id, std::string message, std::string remedy,
                      std::string kubernetes, std::string_view source) {
  complaints.push_back({std::string(id), severity, std::move(message), std::move(remedy),
                        std::move(kubernetes), std::string(source)});
}

bool ProcessView::contained() const {
  const auto mount = process.seen.shares.find("mnt");
  return !process.seen.container.empty() ||
         (mount != process.seen.shares.end() && !mount->second.value_or(true));
}

bool ProcessView::node_has_rdma() const {
  return std::ranges::any_of(items(node.rdma.devices), [](const RdmaDevice& device) {
    return std::ranges::any_of(items(device.ports),
                               [](const RdmaPort& port) { return port.state.value_or("") == "ACTIVE"; });
  });
}

bool ProcessView::wants_rdma() const {
  const Settings settings(process.nccl);
  const std::string net = lower(settings.value("NCCL_NET"));
  return settings.number("NCCL_IB_DISABLE").value_or(0) == 0 && (net.empty() || net == "ib");
}

bool ProcessView::has(std::string_view library) const {
  return std::ranges::find(items(process.seen.libraries), library, &MappedLibrary::name) !=
         items(process.seen.libraries).end();
}

std::string ProcessView::variable(std::string_view name) const {
  if (!process.seen.environment.ok()) return "";
  const auto found = process.seen.environment->find(std::string(name));
  return found == process.seen.environment->end() ? "" : found->second;
}

std::string ProcessView::interface_of(std::string_view address) const {
  for (const SeenInterface& interface : items(process.seen.interfaces))
    for (const std::string& text : interface.addresses)
      if (text.substr(0, text.find('/')) == address) return interface.name;
  return "";
}

std::optional<bool> ProcessView::spans_nodes() const {
  const auto world = parse_number<int>(variable("WORLD_SIZE"));
  const auto local = parse_number<int>(variable("LOCAL_WORLD_SIZE"));
  if (world && local && *local > 0) return *world > *local;
  if (remote_connections(process) >= kFewestOfData || uses.network == "RDMA") return true;
  return std::nullopt;
}

Severity ProcessView::between_nodes(Severity unless_known) const {
  const auto spans = spans_nodes();
  return !spans ? unless_known : *spans ? Severity::kError : Severity::kNote;
}

Facts as_seen_by(const Process& process, const Facts& node) {
  Facts seen = node;
  seen.nccl = process.nccl;
  const auto net = process.seen.shares.find("net");
  const bool own_network = net != process.seen.shares.end() && !net->second.value_or(true);
  if (own_network)
    seen.net.interfaces = process.seen.interfaces.parsed([&](const std::vector<SeenInterface>& all) {
      std::vector<NetInterface> found;
      for (const SeenInterface& interface : all)
        found.push_back(interface_of_process(interface, process.seen.interfaces.from()));
      return std::optional(std::move(found));
    });
  const bool told = process.rdma_devices.ok() || process.rdma_devices.absent();
  if (told)
    seen.rdma.devices = node.rdma.devices.parsed([&](std::vector<RdmaDevice> devices) {
      std::erase_if(devices, [&](const RdmaDevice& device) {
        const auto& usable = items(process.rdma_devices);
        return std::ranges::find(usable, device.name) == usable.end();
      });
      return std::optional(std::move(devices));
    });
  return seen;
}

// The evidence, in order: connected queue pairs show RDMA. Otherwise a few connections to other nodes may be
// the first contact only. More of them show TCP, but only if it is known that no RDMA device is open.
NetworkUse used_now(const Process& process, const Facts& node) {
  const std::string connected = connected_on(process);
  if (!connected.empty()) return {"RDMA", connected};
  if (!process.seen.flows.ok()) return {"", describe(process.seen.flows.miss(), process.seen.flows.from())};
  const std::string connections = connections_text(process);
  const int count = remote_connections(process);
  if (count == 0) return {"", "no connection to another node: it has not begun, or stays on this node"};
  if (count < kFewestOfData)
    return {"", fmt::format("{}, which may be its first contact only: it may not have begun", connections)};
  const bool closed = process.seen.open_devices.ok() && !has_rdma_open(process);
  if (closed) return {"TCP", fmt::format("{}, and no RDMA device is open", connections)};
  if (!process.seen.open_devices.ok())
    return {"", fmt::format("{}; its open devices: {}", connections,
                            describe(process.seen.open_devices.miss(), process.seen.open_devices.from()))};
  if (lists_its_queue_pairs(process, node))
    return {"", fmt::format("{}; an RDMA device is open, and no queue pair is connected yet", connections)};
  return {"", fmt::format(
                  "{}; an RDMA device is open, and `rdma resource show qp` does not tell its queue pairs: "
                  "as root, in the node's own network, it does",
                  connections)};
}

Severity ProcessVerdict::worst() const {
  Severity worst = Severity::kNote;
  for (const ProcessComplaint& complaint : complaints) worst = std::max(worst, complaint.severity);
  for (const Complaint& complaint : variables) worst = std::max(worst, complaint.severity);
  return worst;
}

ProcessVerdict judge_process(const Process& process, const Facts& node, const Expectation& expected) {
  Expectation its = expected;
  if (const auto mapped = installed_version(process.nccl)) its.version = mapped;
  Facts seen = as_seen_by(process, node);
  ProcessVerdict verdict{.process = process,
                         .uses = used_now(process, node),
                         .complaints = {},
                         .variables = {},
                         .choices = predict(seen, its.version),
                         .version = its.version.value_or(kNewestKnown).to_text()};
  seen.rdma.devices =
      node.rdma.devices;  // a name is not wrong just because the process lacks the device's node
  verdict.variables = lint(seen, its);
  ProcessView view{process, node, verdict.choices, verdict.uses};
  lint_process_devices(view);
  lint_process_addresses(view);
  lint_use(view);
  std::ranges::stable_sort(view.complaints, std::ranges::greater(), &ProcessComplaint::severity);
  verdict.complaints = std::move(view.complaints);
  return verdict;
}

}  // namespace railbed::nccl
