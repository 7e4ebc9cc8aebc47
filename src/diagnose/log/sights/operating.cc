// Observations in what tools of measuring and operating, and programs, print that confirm or refute causes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace operating_lines {
namespace {

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

Evidence is_confidential_guest(const LogState& state, const LogProblem&) {
  return first_seen(state, {"tdx-guest", "memory-encryption-tdx", "memory-encryption-sev"});
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

// Finds words in the message of Python, the loader, a compiler or a registry.
template <const auto& kWords>
Evidence says_any(const LogState&, const LogProblem& problem) {
  for (const std::string_view words : kWords)
    if (has_text(problem.message, words)) return "its message has " + std::string(words);
  return std::nullopt;
}

using Words = std::string_view[];
constexpr Words kDhcpOffers = {"dhcp-offer", "dhcp-offer-dnsmasq"};
constexpr Words kGrubPlaceLost = {"grub-no-device", "grub-no-partition", "grub-no-filesystem",
                                  "grub-no-disk"};
constexpr Words kGrubSymbolLost = {"grub-no-symbol", "grub-no-symbol-newer"};
constexpr Words kVfsInUse = {"vfs-assigned", "vfs-assigned-some"};
constexpr Words kNoFile = {"shared object file: No such file"};
constexpr Words kSymbolsOfTorch = {"symbol: _ZN3c10",  "symbol: _ZNK3c10",  "symbol: _ZN2at",
                                   "symbol: _ZNK2at",  "symbol: _ZN5torch", "symbol: _ZNK5torch",
                                   "symbol: _ZTIN3c10"};
constexpr Words kSymbolsOfCuda = {", version lib",    "symbol: __nv",     "symbol: nvrtc", "symbol: cublas",
                                  "symbol: cusparse", "symbol: cusolver", "symbol: cufft", "symbol: cudnn"};
constexpr Words kNamesPath = {"ermission denied: '"};
constexpr Words kCaches = {".triton", "torchinductor", "torch_extensions", "/.cache/", "__pycache__"};
constexpr Words kMounts = {"df: ", "cannot access '", "cannot open directory '", "cannot stat '"};
constexpr Words kHeaderCut = {"MetadataIncompleteBuffer", "HeaderTooSmall", "incomplete metadata",
                              "header too small"};
constexpr Words kHeaderForeign = {"HeaderTooLarge", "InvalidHeaderStart", "header too large"};
constexpr Words kHeaderNewType = {"unknown variant"};
constexpr Words kToolkitSeen = {"toolkit-folder", "cuda-release"};
constexpr Words kLogins = {"auth", "/token"};
constexpr Words kImages = {"/manifests/", "/blobs/"};
constexpr Words kNoCable = {"cable-unplugged", "cable-pulled"};
constexpr Words kForks = {"fork-frame", "fork-frame-os"};
constexpr Words kReadOnlyOptions = {"read-only-container", "read-only-option"};
constexpr Words kHostOn = {"host-power-on", "chassis-power-on"};
constexpr Words kHostOff = {"host-power-off", "chassis-power-off"};
constexpr Words kGenericProcessors = {"processor-generic", "processor-common"};
constexpr Words kHubNoWay = {"hub-no-name", "hub-no-route"};

Evidence loader_failed_otherwise(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (says_any<kNoFile>(state, problem) || !scan.skip_past("shared object file: ")) return std::nullopt;
  return "the loader's reason is " + std::string(scan.rest());
}

Evidence symbol_is_of_neither(const LogState& state, const LogProblem& problem) {
  if (says_any<kSymbolsOfTorch>(state, problem) || says_any<kSymbolsOfCuda>(state, problem))
    return std::nullopt;
  return std::string(word_after(problem.message, "undefined symbol: ")) + " is no symbol of PyTorch or CUDA";
}

Evidence path_is_not_named(const LogState& state, const LogProblem& problem) {
  if (says_any<kNamesPath>(state, problem)) return std::nullopt;
  return "its message names no path";
}

// "Unsupported gpu architecture 'compute_70'", "Value 'sm_121a' is not defined for option 'gpu-name'"
int architecture_of(const LogProblem& problem) {
  if (const auto number = number_after(problem.message, "'compute_")) return *number;
  return number_after(problem.message, "'sm_").value_or(0);
}

constexpr int kOldestOfCuda13 = 75;
constexpr int kOldestOfCuda12 = 50;

Evidence architecture_is_current(const LogState&, const LogProblem& problem) {
  const int architecture = architecture_of(problem);
  if (architecture < kOldestOfCuda13) return std::nullopt;
  return "every CUDA that knows architecture " + std::to_string(architecture) + " still supports it";
}

Evidence architecture_was_dropped(const LogState&, const LogProblem& problem) {
  const int architecture = architecture_of(problem);
  if (architecture == 0 || architecture >= kOldestOfCuda13) return std::nullopt;
  return std::string(architecture < kOldestOfCuda12 ? "CUDA 12" : "CUDA 13") + " dropped architecture " +
         std::to_string(architecture);
}

// By the release of nvcc in "Cuda compilation tools, release 13.0, V13.0.88".
Evidence architecture_is_dropped(const LogState& state, const LogProblem& problem, bool dropped) {
  const auto seen = state.seen.find("cuda-release");
  if (seen == state.seen.end() || !architecture_was_dropped(state, problem)) return std::nullopt;
  const int major = number_after(seen->second.text, ", release ").value_or(0);
  const int dropped_by = architecture_of(problem) < kOldestOfCuda12 ? 12 : 13;
  return (major >= dropped_by) == dropped ? Evidence(at_line(seen->second)) : std::nullopt;
}

Evidence architecture_is_dropped_here(const LogState& state, const LogProblem& problem) {
  return architecture_is_dropped(state, problem, true);
}

Evidence architecture_is_kept_here(const LogState& state, const LogProblem& problem) {
  return architecture_is_dropped(state, problem, false);
}

// Lines of one kind, where none of the other kind contradicts them.
Evidence saw_only(const LogState& state, std::initializer_list<std::string_view> these,
                  std::initializer_list<std::string_view> others) {
  return first_seen(state, others) ? std::nullopt : first_seen(state, these);
}

// Python's message of EAGAIN is the same for a fork, a lock and an output; the frames tell them apart.
Evidence call_was_of_a_file(const LogState& state, const LogProblem& problem) {
  if (problem.symptom != "threads-fork") return std::nullopt;
  return saw_only(state, {"lock-frame", "lockf-frame", "flush-frame"}, {"fork-frame", "fork-frame-os"});
}

// "Docker version 20.10.7, build f0df350": clone3 is refused before 20.10.10.
Evidence docker_refuses_clone3(const LogState& state, bool refuses) {
  const auto seen = state.seen.find("docker-version");
  if (seen == state.seen.end()) return std::nullopt;
  Scan scan(seen->second.text);
  scan.skip_past("Docker version ");
  const int major = scan.number().value_or(0);
  scan.take(".");
  const int minor = scan.number().value_or(0);
  scan.take(".");
  const int patch = scan.number().value_or(0);
  if (major == 0) return std::nullopt;
  const bool before = std::tuple(major, minor, patch) < std::tuple(20, 10, 10);
  return before == refuses ? Evidence(at_line(seen->second)) : std::nullopt;
}

Evidence docker_is_before_clone3(const LogState& state, const LogProblem&) {
  return docker_refuses_clone3(state, true);
}

Evidence docker_is_after_clone3(const LogState& state, const LogProblem&) {
  return docker_refuses_clone3(state, false);
}

constexpr int kDefaultMappings = 65530;

Evidence mappings_are(const LogState& state, bool raised) {
  const auto seen = state.seen.find("map-count");
  if (seen == state.seen.end()) return std::nullopt;
  const auto limit = number_after(seen->second.text, "max_map_count = ");
  if (!limit || (*limit > kDefaultMappings) != raised) return std::nullopt;
  return at_line(seen->second);
}

Evidence mappings_are_default(const LogState& state, const LogProblem&) { return mappings_are(state, false); }

Evidence mappings_are_raised(const LogState& state, const LogProblem&) { return mappings_are(state, true); }

Evidence dcgm_cache_failed_alone(const LogState& state, const LogProblem&) {
  return saw_only(state, {"dcgm-cache-failed"}, {"dcgm-nvml-failed"});
}

// dcgm-exporter's own warning names the capability that it lacks.
Evidence exporter_has_capability(const LogState& state, const LogProblem&) {
  return saw_only(state, {"dcgm-capability-given", "dcgm-capability-listed", "dcgm-capability-added"},
                  {"dcgm-not-privileged"});
}

Evidence exporter_lacks_capability(const LogState& state, const LogProblem&) {
  return first_seen(state, {"dcgm-not-privileged", "dcgm-exporter-started"});
}

Evidence cable_is_there(const LogState& state, const LogProblem&) {
  return saw_only(state, {"cable-plugged", "cable-identified"}, {"cable-unplugged", "cable-pulled"});
}

Evidence imex_domain_is_down(const LogState& state, const LogProblem&) {
  return first_seen(state, {"imex-domain-down", "imex-domain-degraded"});
}

// The first observation, where the second was not made.
Evidence one_without(std::string_view one, std::string_view other, const LogState& state,
                     const LogProblem& problem) {
  Seen seen = look_for(one, state, problem);
  if (seen.answer != Answer::kYes || look_for(other, state, problem).answer == Answer::kYes)
    return std::nullopt;
  return std::move(seen.evidence);
}

Evidence driver_is_nowhere(const LogState& state, const LogProblem& problem) {
  return one_without("no-driver", "gpus-listed", state, problem);
}

Evidence nvml_works(const LogState& state, const LogProblem& problem) {
  return one_without("gpus-listed", "dcgm-nvml-failed", state, problem);
}

Evidence cuda_failed_first(const LogState& state, const LogProblem& problem) {
  return one_without("cuda-failed-before", "failed-first", state, problem);
}

Evidence shm_is_only_large(const LogState& state, const LogProblem& problem) {
  return one_without("shm-large", "shm-small", state, problem);
}

Evidence gpu_is_only_busy(const LogState& state, const LogProblem& problem) {
  return one_without("dcgm-gpu-busy", "gpu-reported-xid", state, problem);
}

Evidence imex_channel_is_everywhere(const LogState& state, const LogProblem& problem) {
  return one_without("imex-channel-there", "imex-channel-absent", state, problem);
}

Evidence imex_domain_is_up(const LogState& state, const LogProblem&) {
  return saw_only(state, {"imex-domain-up"}, {"imex-domain-down", "imex-domain-degraded"});
}

Evidence image_is_there(const LogState& state, const LogProblem&) {
  return saw_only(state, {"image-oci", "image-docker"}, {"image-absent"});
}

Evidence lnet_only_failed(const LogState& state, const LogProblem&) {
  return saw_only(state, {"lnet-start-failed"}, {"lustre-module-absent"});
}

Evidence instruction_is_a_trap(const LogState& state, const LogProblem&) {
  return saw_only(state, {"trap-instruction"}, {"instruction-ymm", "instruction-zmm"});
}

Evidence registry_refused_login(const LogState& state, const LogProblem& problem) {
  return says_any<kImages>(state, problem) ? std::nullopt : says_any<kLogins>(state, problem);
}

Evidence is_read_only_by_fault(const LogState& state, const LogProblem&) {
  return saw_only(state, {"remounted-read-only", "xfs-shut-down"},
                  {"read-only-container", "read-only-option"});
}

Evidence name_server_failed(const LogState& state, const LogProblem&) {
  return saw_only(state, {"dns-server-failed"}, {"dns-silent"});
}

Evidence selinux_denied(const LogState& state, const LogProblem&) {
  return saw_only(state, {"avc-denied"}, {"selinux-permissive"});
}

Evidence toolkit_is_absent(const LogState& state, const LogProblem&) {
  return saw_only(state, {"toolkit-no-folder"}, {"toolkit-folder", "cuda-release"});
}

Evidence no_host_answers(const LogState& state, const LogProblem&) {
  return saw_only(state, {"host-answers-no-ping"}, {"host-answers-ping"});
}

// "Fan FAN3 | Lower Critical going low | Asserted | Reading 0 < Threshold 420 RPM"
Evidence fan_stands(const LogState&, const LogProblem& problem) {
  const auto reading = number_after(problem.message, "Reading ");
  if (!reading || *reading != 0) return std::nullopt;
  return "its reading is 0";
}

Evidence fan_turns(const LogState&, const LogProblem& problem) {
  const auto reading = number_after(problem.message, "Reading ");
  if (!reading || *reading <= 0) return std::nullopt;
  return "its reading is " + std::to_string(*reading);
}

// Returns a field of "7 | 11/02/2023 | 10:11:12 | Power Supply PS2 Status | Failure detected | Asserted", the first is 0.
std::string_view event_field(std::string_view line, int number) {
  for (; number > 0; --number) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos) return {};
    line.remove_prefix(bar + 1);
  }
  return trim(line.substr(0, line.find('|')));
}

// The event log has the same supply without input on that day.
Evidence supply_lost_input(const LogState& state, const LogProblem& problem) {
  constexpr int kDay = 1;
  constexpr int kSensor = 3;
  for (const LogProblem& other : state.log.problems) {
    if (other.symptom != "sel-supply-lost" || event_field(other.message, kSensor).empty()) continue;
    if (event_field(other.message, kSensor) == event_field(problem.message, kSensor) &&
        event_field(other.message, kDay) == event_field(problem.message, kDay))
      return at_line(other);
  }
  return std::nullopt;
}

// The sensor lists a supply as failed, and not as one without mains.
Evidence supply_is_fed(const LogState& state, const LogProblem&) {
  const auto seen = state.seen.find("supply-failed-fed");
  if (seen == state.seen.end() || has_text(seen->second.text, "AC lost")) return std::nullopt;
  return at_line(seen->second);
}

Evidence dhcp_server_offers_nothing(const LogState& state, const LogProblem&) {
  return saw_only(state, {"dhcp-discover", "dhcp-discover-dnsmasq"}, {"dhcp-offer", "dhcp-offer-dnsmasq"});
}

Evidence hub_says_only_401(const LogState& state, const LogProblem&) {
  return saw_only(state, {"hub-401"}, {"hub-403", "hub-fine-grained"});
}

Evidence hub_says_only_403(const LogState& state, const LogProblem&) {
  return saw_only(state, {"hub-403"}, {"hub-401", "hub-fine-grained"});
}

Evidence hub_was_only_late(const LogState& state, const LogProblem&) {
  return saw_only(state, {"hub-read-late"}, {"hub-no-name", "hub-no-route"});
}

// "65531 /proc/4711/maps" of wc -l
Evidence mappings_are_used_up(const LogState& state, const LogProblem& problem) {
  const auto seen = state.seen.find("maps-counted");
  if (seen == state.seen.end() || mappings_are_raised(state, problem)) return std::nullopt;
  const auto count = Scan(trim(seen->second.text)).number();
  if (!count || *count < kDefaultMappings) return std::nullopt;
  return at_line(seen->second);
}

// "Compiling a graph for general shape takes 64.48 s": the least time limit of a step was 40 seconds.
Evidence vllm_compiled_for_long(const LogState& state, const LogProblem&) {
  constexpr int kLeastLimit = 40;
  const auto seen = state.seen.find("vllm-compiles");
  if (seen == state.seen.end() || number_after(seen->second.text, " takes ").value_or(0) < kLeastLimit)
    return std::nullopt;
  return at_line(seen->second);
}

Evidence is_stale_at_mount(const LogState& state, const LogProblem& problem) {
  return says_any<kCaches>(state, problem) ? std::nullopt : says_any<kMounts>(state, problem);
}

Evidence hub_was_asked(const LogState& state, const LogProblem& problem) {
  if (problem.symptom == "hub-retries") return "its message names a connection to huggingface.co";
  return first_seen(state, {"hub-retries"});
}

Evidence hub_is_offline(const LogState& state, const LogProblem& problem) {
  if (hub_was_asked(state, problem)) return std::nullopt;
  return first_seen(state, {"hub-offline-mode", "hub-offline-set"});
}

constexpr std::string_view kCipherRefused[] = {"rakp-cipher", "rakp-algorithm"};
constexpr std::string_view kBmcAnswers[] = {"rakp-refused", "open-response-odd", "lan-authentication"};
constexpr std::string_view kGrubNoAnswer[] = {"grub-net-timeout", "grub-net-read", "grub-net-send"};
constexpr std::string_view kGrubNoFile[] = {"grub-no-file", "grub-no-device"};
constexpr std::string_view kGrubRefuses[] = {"grub-signature", "grub-shim"};

// Returns the last two columns of "*  NUM_OF_VFS   16   16   12": the current value and that of the next boot.
std::optional<std::pair<std::uint64_t, std::uint64_t>> current_and_next(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("NUM_OF_VFS")) return std::nullopt;
  std::vector<std::uint64_t> columns;
  for (const std::string_view word : words(scan.rest()))
    if (const auto number = parse_number<std::uint64_t>(word)) columns.push_back(*number);
  if (columns.size() != 3) return std::nullopt;
  return std::pair{columns[1], columns[2]};
}

Evidence vfs_wait_for_reset(const LogState& state, bool waits) {
  const auto seen = state.seen.find("fw-vfs");
  if (seen == state.seen.end()) return std::nullopt;
  const auto columns = current_and_next(seen->second.text);
  if (!columns || (columns->first != columns->second) != waits) return std::nullopt;
  return at_line(seen->second);
}

Evidence firmware_waits_for_reset(const LogState& state, const LogProblem&) {
  if (auto asked = first_seen(state, {"fw-power-cycle"})) return asked;
  return vfs_wait_for_reset(state, true);
}

Evidence firmware_has_same_vfs(const LogState& state, const LogProblem&) {
  return vfs_wait_for_reset(state, false);
}

constexpr Question kOperatingQuestions[] = {
    {"rakp-cipher-refused", seen_any<kCipherRefused>},
    {"ipmi-answers", seen_any<kBmcAnswers>},
    {"grub-no-answer", seen_any<kGrubNoAnswer>},
    {"grub-lacks-file", seen_any<kGrubNoFile>},
    {"grub-refuses-kernel", seen_any<kGrubRefuses>},
    {"fw-vfs-waits", firmware_waits_for_reset},
    {"fw-vfs-same", firmware_has_same_vfs},
    {"registry-refused-login", registry_refused_login},
    {"registry-refused-image", says_any<kImages>},
    {"dcgm-cache-alone", dcgm_cache_failed_alone},
    {"dcgm-capability", exporter_has_capability},
    {"dcgm-no-capability", exporter_lacks_capability},
    {"cable-is-there", cable_is_there},
    {"no-cable-there", seen_any<kNoCable>},
    {"imex-domain-down", imex_domain_is_down},
    {"driver-is-nowhere", driver_is_nowhere},
    {"nvml-works", nvml_works},
    {"cuda-failed-first", cuda_failed_first},
    {"shm-only-large", shm_is_only_large},
    {"dcgm-only-busy", gpu_is_only_busy},
    {"imex-channel-everywhere", imex_channel_is_everywhere},
    {"imex-all-up", imex_domain_is_up},
    {"image-is-there", image_is_there},
    {"lnet-only-failed", lnet_only_failed},
    {"trap-alone", instruction_is_a_trap},
    {"dns-only-failed", name_server_failed},
    {"toolkit-is-absent", toolkit_is_absent},
    {"no-host-answers", no_host_answers},
    {"hub-only-401", hub_says_only_401},
    {"fan-stands", fan_stands},
    {"fan-turns", fan_turns},
    {"supply-is-fed", supply_is_fed},
    {"supply-lost-input", supply_lost_input},
    {"dhcp-not-offered", dhcp_server_offers_nothing},
    {"dhcp-offer-made", seen_any<kDhcpOffers>},
    {"grub-place-lost", seen_any<kGrubPlaceLost>},
    {"grub-symbol-lost", seen_any<kGrubSymbolLost>},
    {"vfs-in-use", seen_any<kVfsInUse>},
    {"hub-only-403", hub_says_only_403},
    {"hub-only-late", hub_was_only_late},
    {"maps-used-up", mappings_are_used_up},
    {"vllm-compiled-long", vllm_compiled_for_long},
    {"loader-no-file", says_any<kNoFile>},
    {"loader-other-error", loader_failed_otherwise},
    {"symbol-of-torch", says_any<kSymbolsOfTorch>},
    {"symbol-of-cuda", says_any<kSymbolsOfCuda>},
    {"symbol-of-neither", symbol_is_of_neither},
    {"denied-names-path", says_any<kNamesPath>},
    {"denied-without-path", path_is_not_named},
    {"stale-in-cache", says_any<kCaches>},
    {"stale-at-mount", is_stale_at_mount},
    {"header-cut", says_any<kHeaderCut>},
    {"header-foreign", says_any<kHeaderForeign>},
    {"header-new-type", says_any<kHeaderNewType>},
    {"arch-current", architecture_is_current},
    {"arch-dropped", architecture_was_dropped},
    {"arch-dropped-here", architecture_is_dropped_here},
    {"arch-kept-here", architecture_is_kept_here},
    {"toolkit-is-there", seen_any<kToolkitSeen>},
    {"errno-11-of-file", call_was_of_a_file},
    {"selinux-denied-gpu", selinux_denied},
    {"errno-11-of-fork", seen_any<kForks>},
    {"docker-before-clone3", docker_is_before_clone3},
    {"docker-after-clone3", docker_is_after_clone3},
    {"map-count-default", mappings_are_default},
    {"map-count-raised", mappings_are_raised},
    {"read-only-by-fault", is_read_only_by_fault},
    {"read-only-by-option", seen_any<kReadOnlyOptions>},
    {"host-is-on", seen_any<kHostOn>},
    {"host-is-off", seen_any<kHostOff>},
    {"processor-is-generic", seen_any<kGenericProcessors>},
    {"hub-is-offline", hub_is_offline},
    {"hub-no-way", seen_any<kHubNoWay>},
    {"hub-was-asked", hub_was_asked},
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
    {"confidential-guest", is_confidential_guest},
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
