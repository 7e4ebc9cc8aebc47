#include "facts/software/container.h"

#include <algorithm>
#include <utility>

#include "base/image_reference.h"
#include "base/text.h"
#include "facts/readings.h"
#include "facts/system.h"
#include "host/host.h"

namespace railbed {
namespace {

// The name of the container. It allows one run at a time, because a second one fails while the name is in
// use. A container that a killed client left behind is removed by this name.
constexpr const char* kContainerName = "railbed-look";

// The script that runs in the container. It is plain sh, which includes busybox, in one line so that a
// captured tree can name it. The folders are those into which NVIDIA's toolkit puts the driver's libraries.
// The last line, "end", proves that nothing was cut off.
constexpr const char* kLookScript =
    R"(for f in /dev/nvidia[0-9]*; do test -c $f && echo gpu ${f#/dev/nvidia}; done; for f in /dev/infiniband/*; do test -c $f && echo rdma ${f##*/}; done; while read -r a b c d e; do test "$a $b $c" = "Max locked memory" && echo memlock $d; done </proc/self/limits; for d in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib /lib64 /lib /usr/local/nvidia/lib64; do test -e $d/libcuda.so.1 && echo libcuda && break; done; command -v nvidia-smi >/dev/null && nvidia-smi -L 2>&1 | { n=0; s=; while read -r a b; do case $a in GPU) n=$((n+1));; MIG) ;; *) test "$s" || s="$a $b";; esac; done; echo smi $n; test "$s" && printf 'said %s\n' "$s"; }; echo end)";

// Returns the command that starts the container with the devices and the locked memory that a job with GPUs
// gets, and nothing more. --read-only is not used: NVIDIA's CDI hooks write into the container's file system
// and fail with it (kserve/kserve pull request 5711), and the layer is removed with the container.
// label=disable follows NVIDIA's guide for podman, because SELinux otherwise denies its containers the
// devices.
std::vector<std::string> start_command(const std::string& runtime, const ContainerPlan& plan) {
  std::vector<std::string> words = {runtime,      "run",          "--rm",           "--pull=never",
                                    "--name",     kContainerName, "--network",      "none",
                                    "--cap-drop", "ALL",          "--security-opt", "no-new-privileges",
                                    "--ulimit",   "memlock=-1:-1"};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (runtime == "podman") add({"--security-opt", "label=disable"});
  if (plan.gpus && runtime == "podman") add({"--device", "nvidia.com/gpu=all"});
  if (plan.gpus && runtime == "docker") add({"--gpus", "all"});
  if (plan.rdma) add({"--device", "/dev/infiniband"});
  add({"--entrypoint", "sh"});
  words.push_back(plan.image);
  add({"-c", kLookScript});
  return words;
}

// Returns the error message in one line, without the hint that docker appends.
std::string in_one_line(std::string_view error) {
  constexpr std::size_t kLongest = 600;
  std::string text;
  for (const auto line : lines(error)) {
    if (line.starts_with("Run 'docker run --help'") || line.starts_with("See 'docker run --help'")) continue;
    for (const auto word : words(line)) text += (text.empty() ? "" : " ") + std::string(word);
    if (text.size() > kLongest) break;
  }
  return printable(std::string_view(text).substr(0, kLongest));
}

std::optional<std::uint64_t> memlock_of(std::string_view text) {
  return text == "unlimited" ? std::optional(kUnlimited) : parse_number<std::uint64_t>(text);
}

// Parses one line of the script's output; returns false if the script never prints such a line.
bool read_sight_line(std::string_view line, ContainerSight& sight, bool& limited) {
  constexpr std::size_t kMostNodes = 1024;
  const auto space = line.find(' ');
  const std::string_view what = line.substr(0, space);
  const std::string_view value = space == std::string_view::npos ? "" : line.substr(space + 1);
  const auto number = parse_number<int>(value);
  const bool counted = number && *number >= 0 && *number <= static_cast<int>(kMostNodes);
  if (what == "gpu" && counted && sight.gpus.size() < kMostNodes) {
    sight.gpus.push_back(*number);
  } else if (what == "rdma" && is_device_name(value, kLongestDevice) &&
             sight.rdma_nodes.size() < kMostNodes) {
    sight.rdma_nodes.emplace_back(value);
  } else if (what == "memlock" && memlock_of(value)) {
    sight.memlock = *memlock_of(value);
    limited = true;
  } else if (line == "libcuda") {
    sight.libcuda = true;
  } else if (what == "smi" && counted) {
    sight.listed = *number;
  } else if (what == "said") {
    sight.complaint = printable(value.substr(0, 400));
  } else {
    return false;
  }
  return true;
}

ContainerLook without_runtime(const ContainerPlan& plan) {
  return {.runtime = plan.runtime,
          .image = plan.image,
          .start = ContainerStart::kNoRuntime,
          .said = {},
          .inside = {}};
}

// Starts the container with one runtime. The reading is absent if the runtime is not installed. A failed
// start is a value.
Reading<ContainerLook> start_with(Host& host, const std::string& runtime, const ContainerPlan& plan) {
  const auto output = host.run(start_command(runtime, plan), plan.deadline);
  const std::string from = runtime + " run " + plan.image;
  if (!output) {
    // The client was killed, but the container may still run. podman gives it ten seconds to end by itself.
    constexpr std::chrono::seconds kRemoval{15};
    if (!output.absent()) (void)host.run({runtime, "rm", "--force", kContainerName}, kRemoval);
    return {output.miss(), from};
  }
  ContainerLook look{.runtime = runtime, .image = plan.image, .start = {}, .said = {}, .inside = {}};
  if (output->exit_code != 0) {
    // A captured tree keeps only one output per command.
    const std::string& error = output->error_output.empty() ? output->output : output->error_output;
    look.start = why_not_started(error);
    look.said = in_one_line(error);
    return {std::move(look), from};
  }
  auto sight = parse_container_sight(output->output);
  if (!sight)
    return {Miss{Missing::kGarbled, "it printed something other than what railbed asked for"}, from};
  look.inside = std::move(*sight);
  return {std::move(look), from};
}

}  // namespace

std::optional<ContainerSight> parse_container_sight(std::string_view output) {
  ContainerSight sight;
  bool limited = false;
  const auto all = lines(output);
  if (all.empty() || all.back() != "end") return std::nullopt;
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    if (!read_sight_line(all[i], sight, limited)) return std::nullopt;
  return limited ? std::optional(std::move(sight)) : std::nullopt;
}

// The order matters: specific messages come first, because a later text may also occur in a name, such as an
// image's. Sources: docker 20 to 29 (cli and moby), podman 4 and 5, runc, crun, nvidia-container-toolkit. The
// names of libraries are there because a CDI description of an older driver refers to libraries that no
// longer exist.
ContainerStart why_not_started(std::string_view said) {
  using enum ContainerStart;
  static constexpr std::pair<std::string_view, ContainerStart> kWords[] = {
      {"permission denied while trying to connect", kDenied},
      {"Cannot connect to the Docker daemon", kNoDaemon},
      {"failed to connect to the docker API", kNoDaemon},
      {"No such image", kNoImage},
      {"image not known", kNoImage},
      {"is already in use", kBusy},
      {"could not select device driver", kNoGpuSupport},
      {"failed to discover GPU vendor", kNoGpuSupport},
      {"unresolvable CDI devices", kNoGpuSupport},
      {"RLIMIT_MEMLOCK", kMemlock},
      {"rlimit type 8:", kMemlock},
      {"nvidia-container", kGpuSetup},
      {"nvidia-ctk", kGpuSetup},
      {"nvidia-cdi-hook", kGpuSetup},
      {"libcuda.so", kGpuSetup},
      {"libnvidia-", kGpuSetup},
      {"_nvidia.so", kGpuSetup},
      {"/dev/nvidia", kGpuSetup},
      {"executable file", kNoShell},
  };
  for (const auto& [words, start] : kWords)
    if (said.find(words) != std::string_view::npos) return start;
  return kFailed;
}

Reading<ContainerLook> look_into_container(Host& host, const ContainerPlan& plan) {
  if (plan.image.empty()) return {Miss{Missing::kAbsent, "no image is named"}, ""};
  if (!is_image_reference(plan.image))
    return {Miss{Missing::kUnsupported, "this is not the name of an image"},
            printable(plan.image.substr(0, 80))};
  bool known = true;
  for (const char* const runtime : {"docker", "podman"}) {
    if (!plan.runtime.empty() && plan.runtime != runtime) continue;
    auto look = start_with(host, runtime, plan);
    if (!look.absent()) return look;
    // A captured tree has no result of either program.
    known = known && host.run({"test", "-e", std::string("/usr/bin/") + runtime}).ok();
  }
  if (!known) return {Miss{Missing::kAbsent, "no container was started here"}, "docker, podman"};
  return {without_runtime(plan), "docker, podman"};
}

}  // namespace railbed
