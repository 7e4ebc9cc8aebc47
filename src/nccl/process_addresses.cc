// Checks variables of a process that refer to other networks than NCCL's, or to none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "nccl/process_view.h"
#include "nccl/settings.h"

namespace railbed::nccl {
namespace {

// NCCL reads an empty number as its default (ncclLoadParam), never as 0. But the files it reads do not
// overwrite an existing variable (setenv without overwriting), and the name of a network is compared
// unchanged.
void empty_variables(ProcessView& view) {
  const Settings settings(view.process.nccl);
  for (const NcclVariable& variable : items(view.process.nccl.environment)) {
    if (!variable.value.empty() || !variable.name.starts_with("NCCL_")) continue;
    const auto hidden = [&](const NcclVariable* other) {
      return other->name == variable.name && !other->value.empty() && for_everybody(*other);
    };
    const auto loses = std::ranges::find_if(settings.all(), hidden);
    const std::string remedy =
        "Remove the variable; a compose file writes it as \"${NAME:?}\", or not at all.";
    constexpr std::string_view kSource = "NCCL src/misc/param.cc";
    if (variable.name == "NCCL_NET")
      view.say(
          Severity::kError, "empty-variable",
          "NCCL_NET is set and empty: NCCL looks for a network of that name, finds none and does not start",
          remedy, "", kSource);
    else if (loses != settings.all().end())
      view.say(
          Severity::kWarning, "empty-variable",
          fmt::format("{} is set and empty, so that {}={} of {} does not apply and NCCL takes its default",
                      variable.name, variable.name, (*loses)->value, (*loses)->from),
          remedy, "", kSource);
    else
      view.say(Severity::kNote, "empty-variable",
               fmt::format("{} is set and empty: NCCL takes its default, not 0", variable.name), remedy, "",
               kSource);
  }
}

// Gloo binds to the address of the host's name, or to the loopback if that fails (PyTorch
// torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, createDefaultDevice).
void gloo_loopback(ProcessView& view) {
  const auto& addresses = items(view.process.seen.hostname_addresses);
  const bool gloo = view.has("libtorch_cpu") || view.has("libgloo");
  if (!gloo || addresses.empty() || !view.variable("GLOO_SOCKET_IFNAME").empty()) return;
  if (!std::ranges::all_of(addresses, [](const std::string& one) { return is_loopback(one); })) return;
  const auto& interfaces = view.choices.interfaces;
  view.say(view.between_nodes(Severity::kNote), "gloo-loopback",
           fmt::format(
               "its host name {} is {} in its /etc/hosts: Gloo listens there, where no other node reaches it",
               view.process.seen.hostname.value_or("?"), fmt::join(addresses, ", ")),
           fmt::format("Set GLOO_SOCKET_IFNAME={}, or give the name its real address in /etc/hosts.",
                       interfaces.empty() ? "IF" : interfaces.front()),
           "", "PyTorch ProcessGroupGloo.cpp");
}

// Gloo and TensorPipe need whole names, unlike NCCL.
void named_interfaces(ProcessView& view) {
  if (!view.process.seen.interfaces.ok()) return;
  for (const char* const name : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
    const std::string value = view.variable(name);
    for (const std::string_view wanted : split(value, ',')) {
      const auto& all = *view.process.seen.interfaces;
      if (wanted.empty() || std::ranges::find(all, wanted, &SeenInterface::name) != all.end()) continue;
      std::vector<std::string> names;
      for (const SeenInterface& interface : all) names.push_back(interface.name);
      view.say(Severity::kError, "interface-gone",
               fmt::format("{}={} names {}, which its network does not have ({}); prefixes do not count here",
                           name, value, wanted, fmt::join(names, ", ")),
               "Name an interface that is there.");
    }
  }
}

void vllm_address(ProcessView& view) {
  const std::string value = view.variable("VLLM_HOST_IP");
  if (value.empty() || !view.process.seen.interfaces.ok()) return;
  const auto address = IpAddress::parse(value);
  if (!address) {
    view.say(Severity::kError, "host-ip", fmt::format("VLLM_HOST_IP={} is no IP address", value),
             "Write this node's own address, as `ip -br address` prints it.");
    return;
  }
  const std::string on = view.interface_of(address->to_text());
  const std::string first = view.choices.interfaces.empty() ? "" : view.choices.interfaces.front();
  if (on.empty())
    view.say(
        Severity::kError, "host-ip",
        fmt::format("VLLM_HOST_IP={} is no address of this process's network: other nodes are sent astray",
                    value),
        "Give each node its own address; an environment copied from another node keeps that one's.");
  else if (!first.empty() && on != first)
    view.say(Severity::kWarning, "host-ip",
             fmt::format("VLLM_HOST_IP={} is on {}, and NCCL's first contact goes by {}", value, on, first),
             fmt::format("Set NCCL_SOCKET_IFNAME={} and GLOO_SOCKET_IFNAME={}, or the address of {}.", on, on,
                         first),
             "", "vLLM documentation, Troubleshooting distributed deployments");
}

}  // namespace

void lint_process_addresses(ProcessView& view) {
  empty_variables(view);
  gloo_loopback(view);
  named_interfaces(view);
  vllm_address(view);
}

}  // namespace railbed::nccl
