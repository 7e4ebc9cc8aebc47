#include "facts/gpu.h"

#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kDriver = "/proc/driver/nvidia";

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun …" and
// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …".
std::optional<std::string> version_in(std::string_view line) {
  for (const auto word : words(line)) {
    const bool digits_and_dots = word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (digits_and_dots && word.find('.') != std::string_view::npos) return std::string(word);
  }
  return std::nullopt;
}

Reading<std::string> nvrm_line(Host& host) {
  const auto text = host.read(kDriver + "/version");
  if (!text) return text;
  for (const auto line : lines(*text))
    if (line.starts_with("NVRM version:")) return {std::string(line), text.from()};
  return {Miss{Missing::kGarbled, "no NVRM line"}, text.from()};
}

Gpu collect_gpu(Host& host, const std::string& address) {
  const auto information = host.read(kDriver + "/gpus/" + address + "/information");
  return {address, pick(information, ':', "Model"), pick(information, ':', "GPU UUID")};
}

std::vector<int> device_nodes_in(const std::vector<std::string>& names) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<int> nodes;
  for (const auto& name : names)
    if (name.starts_with(kPrefix))
      if (const auto number = parse_number<int>(std::string_view(name).substr(kPrefix.size())))
        nodes.push_back(*number);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

Gpus collect_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci) {
  Gpus gpus;
  gpus.devices = pci.parsed([&](const std::vector<PciDevice>& devices) {
    std::vector<Gpu> found;
    for (const auto& device : devices)
      if (is_gpu(device)) found.push_back(collect_gpu(host, device.address));
    return std::optional(std::move(found));
  });
  const auto line = nvrm_line(host);
  gpus.driver_version = line.parsed(version_in);
  gpus.open_module = line.parsed([](const std::string& text) {
    return std::optional(text.find("Open Kernel Module") != std::string::npos);
  });
  gpus.device_nodes = host.list("/dev").parsed(
      [](const std::vector<std::string>& names) { return std::optional(device_nodes_in(names)); });
  gpus.peer_memory = host.read_line("/sys/module/nvidia_peermem/version");
  return gpus;
}

}  // namespace railbed
