#include "settings/render.h"

#include "settings/files.h"

namespace railbed {
namespace {

struct Renderer {
  Section section;
  void (*render)(const Target& target, std::vector<Setting>& settings);
};

// In the order in which settings are applied, one line each.
// clang-format off
constexpr Renderer kRenderers[] = {
    {Section::kPackages, render_packages},
    {Section::kNetwork, render_network},
    {Section::kHosts, render_hosts},
    {Section::kSysctl, render_sysctl},
    {Section::kLimits, render_limits},
    {Section::kModules, render_modules},
    {Section::kGovernor, render_governor},
    {Section::kServices, render_services},
    {Section::kServices, render_mig},
    {Section::kServices, render_mps},
    {Section::kRdma, render_rdma},
    {Section::kQos, render_qos},
    {Section::kIpoib, render_ipoib},
    {Section::kOpensm, render_opensm},
    {Section::kStorage, render_storage},
    {Section::kStorage, render_nfs},
    {Section::kNccl, render_nccl},
    {Section::kConsole, render_console},
    {Section::kSsh, render_ssh},
    {Section::kExporters, render_exporters},
};
// clang-format on

}  // namespace

std::vector<Setting> render_settings(const Target& target, const std::set<Section>& only) {
  std::vector<Setting> settings;
  for (const Renderer& renderer : kRenderers)
    if (only.empty() || only.contains(renderer.section)) renderer.render(target, settings);
  for (Setting& setting : settings)
    for (DesiredFile& file : setting.files)
      if (!file.block) file.content = seal(file.content);
  return settings;
}

}  // namespace railbed
