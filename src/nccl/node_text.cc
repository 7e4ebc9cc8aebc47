#include "nccl/node_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "base/text.h"

namespace railbed::nccl {

std::string to_text(const std::vector<Complaint>& complaints) {
  std::string out;
  const auto write = std::back_inserter(out);
  for (const Complaint& complaint : complaints) {
    fmt::format_to(write, "{:<8} {}{}: {}\n",
                   enum_names(Severity{})[static_cast<std::size_t>(complaint.severity)], complaint.variable,
                   complaint.value.empty() ? "" : "=" + complaint.value, complaint.message);
    if (!complaint.from.empty()) fmt::format_to(write, "         set in   {}\n", complaint.from);
    fmt::format_to(write, "         remedy   {}\n", complaint.remedy);
  }
  return printable_lines(out);
}

std::string to_text(const Choices& choices) {
  std::string out;
  const auto write = std::back_inserter(out);
  fmt::format_to(write, "Network    {} ({})\n",
                 choices.network.empty() ? "none: NCCL does not start" : choices.network,
                 choices.network_why);
  fmt::format_to(write, "Interface  {} ({})\n",
                 choices.interfaces.empty() ? "none" : fmt::format("{}", fmt::join(choices.interfaces, ", ")),
                 choices.interfaces_why);
  for (const PortChoice& port : choices.ports) {
    fmt::format_to(write, "{} {}:{} {} {} ({})\n", port.used ? "RDMA port " : "  not used", port.device,
                   port.port, port.link, railbed::to_text(port.rate), port.why);
    if (port.gid_index)
      fmt::format_to(write, "             GID {} {} ({})\n", *port.gid_index,
                     port.gid.empty() ? "empty" : port.gid, port.gid_why);
  }
  for (const NicChoice& nic : choices.nics)
    if (!nic.why.empty())
      fmt::format_to(write, "Fused      {} {} ({})\n", nic.name, railbed::to_text(nic.rate), nic.why);
  fmt::format_to(write, "GPUDirect  {} ({})\n",
                 choices.gpudirect_route.empty() ? "no route" : choices.gpudirect_route,
                 choices.gpudirect_why);
  for (const PairChoice& pair : choices.pairs)
    if (pair.nearest)
      fmt::format_to(write, "  GPU {}  {}  {:<4} {} ({})\n", pair.gpu, pair.nic, pair.path,
                     pair.gpudirect ? "GPUDirect" : "staged through host memory", pair.why);
  return printable_lines(out);
}

}  // namespace railbed::nccl
