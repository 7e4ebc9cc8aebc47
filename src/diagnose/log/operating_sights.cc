// Observations in what tools of measuring and operating print that confirm or refute causes.
#include <string>

#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace operating_lines {
namespace {

using Evidence = std::optional<std::string>;

// Returns the symbol in "beegfs: disagrees about version of symbol rdma_resolve_addr"; empty if there is none.
std::string_view refused_symbol(std::string_view message) {
  return word_after(message, "version of symbol ");
}

bool is_of_rdma(std::string_view symbol) {
  while (symbol.starts_with('_')) symbol.remove_prefix(1);
  return symbol.starts_with("ib_") || symbol.starts_with("rdma_") || symbol.starts_with("ibdev_");
}

Evidence symbol_is_of_mlx5(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = refused_symbol(problem.message);
  if (!symbol.starts_with("mlx5_")) return std::nullopt;
  return std::string(symbol) + " is a symbol of mlx5_core";
}

Evidence symbol_is_not_of_mlx5(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = refused_symbol(problem.message);
  if (symbol.empty() || symbol.starts_with("mlx5_")) return std::nullopt;
  return std::string(symbol) + " is no symbol of mlx5_core";
}

Evidence symbol_is_of_rdma(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = refused_symbol(problem.message);
  if (!is_of_rdma(symbol)) return std::nullopt;
  return std::string(symbol) + " is a symbol of the RDMA core (ib_core, rdma_cm)";
}

Evidence symbol_is_another(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = refused_symbol(problem.message);
  if (symbol.empty() || is_of_rdma(symbol)) return std::nullopt;
  return std::string(symbol) + " is no symbol of the RDMA core";
}

Evidence ofed_is_installed(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ofed-name", "ofed-dkms", "ofed-doca"});
}

// DCGM takes GeForce cards from the RTX 50 series on.
Evidence geforce_of(const LogState& state, bool newer) {
  const auto seen = state.seen.find("geforce");
  if (seen == state.seen.end()) return std::nullopt;
  const bool is_newer = seen->second.text.find("RTX 50") != std::string::npos;
  return is_newer == newer ? Evidence(at_line(seen->second)) : std::nullopt;
}

Evidence geforce_is_older(const LogState& state, const LogProblem&) { return geforce_of(state, false); }

Evidence geforce_is_newer(const LogState& state, const LogProblem&) { return geforce_of(state, true); }

Evidence is_virtual_machine(const LogState& state, const LogProblem&) {
  return first_seen(state, {"hypervisor-detected", "dmi-vmware", "dmi-qemu", "dmi-hyperv"});
}

Evidence bmc_is_there(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ipmi-hardware", "ipmi-new-bmc"});
}

Evidence command_is_in_container(const LogState& state, const LogProblem&) {
  return first_seen(state, {"container-run", "container-exec"});
}

// ibv_devinfo and ibstatus: "link_layer: Ethernet"; ibstat: "Link layer: Ethernet"; mlxconfig: "LINK_TYPE_P1 ETH(2)"
Evidence port_is_ethernet(const LogState& state, const LogProblem&) {
  return first_seen(state, {"link-ethernet", "ibstat-ethernet", "link-type-ethernet"});
}

Evidence port_is_infiniband(const LogState& state, const LogProblem&) {
  return first_seen(state, {"link-infiniband", "ibstat-infiniband", "link-type-infiniband"});
}

Evidence ports_are_ethernet_alone(const LogState& state, const LogProblem& problem) {
  return port_is_infiniband(state, problem) ? std::nullopt : port_is_ethernet(state, problem);
}

Evidence another_card_is_there(const LogState& state, const LogProblem&) {
  return first_seen(state, {"rdma-plugin-foreign", "rdma-plugin-broadcom"});
}

Evidence no_bus_is_left(const LogState& state, const LogProblem&) {
  return first_seen(state, {"sriov-bus-range", "sriov-bus-range-older"});
}

Evidence umad_is_gone(const LogState& state, const LogProblem&) {
  return first_seen(state, {"umad-no-file", "umad-absent"});
}

// "unable to run bstrap_proxy on n2 (pid 247, exit code 65280)": a status of wait(2), 255 << 8.
Evidence bstrap_ended_with(const LogProblem& problem, bool with_255) {
  constexpr int kStatusOf255 = 65280;
  const auto code = number_after(problem.message, "exit code ");
  if (!code || (*code == kStatusOf255) != with_255) return std::nullopt;
  return "the launcher's exit status is " + std::to_string(*code / 256);
}

Evidence bstrap_ended_with_255(const LogState&, const LogProblem& problem) {
  return bstrap_ended_with(problem, true);
}

Evidence bstrap_ended_otherwise(const LogState&, const LogProblem& problem) {
  return bstrap_ended_with(problem, false);
}

constexpr Question kOperatingQuestions[] = {
    {"umad-gone", umad_is_gone},
    {"bstrap-255", bstrap_ended_with_255},
    {"bstrap-other-code", bstrap_ended_otherwise},
    {"module-symbol-mlx5", symbol_is_of_mlx5},
    {"module-symbol-not-mlx5", symbol_is_not_of_mlx5},
    {"module-symbol-rdma", symbol_is_of_rdma},
    {"module-symbol-other", symbol_is_another},
    {"ofed-seen", ofed_is_installed},
    {"geforce-older", geforce_is_older},
    {"geforce-newer", geforce_is_newer},
    {"virtual-machine", is_virtual_machine},
    {"ipmi-bmc-there", bmc_is_there},
    {"container-command", command_is_in_container},
    {"port-ethernet", port_is_ethernet},
    {"port-infiniband", port_is_infiniband},
    {"ports-ethernet-alone", ports_are_ethernet_alone},
    {"rdma-plugin-other-card", another_card_is_there},
    {"sriov-no-bus", no_bus_is_left},
};

constexpr Opposites kOperatingOpposites[] = {
    {"umad-gone", "umad-file"},
    {"bstrap-255", "bstrap-other-code"},
    {"module-symbol-rdma", "module-symbol-other"},
    {"module-symbol-mlx5", "module-symbol-not-mlx5"},
    {"geforce-older", "geforce-newer"},
    {"ports-ethernet-alone", "port-infiniband"},
};

}  // namespace
}  // namespace operating_lines

std::span<const Question> operating_questions() { return operating_lines::kOperatingQuestions; }

std::span<const Opposites> operating_opposites() { return operating_lines::kOperatingOpposites; }

}  // namespace railbed::diagnose
