#include "configure/render.h"

namespace railbed {
namespace {

struct Renderer {
  Section section;
  void (*render)(const Target& target, std::vector<Setting>& settings);
};

// In the order in which settings are made.
constexpr Renderer kRenderers[] = {
    {Section::kPackages, render_packages}, {Section::kHosts, render_hosts},
    {Section::kSysctl, render_sysctl},     {Section::kConsole, render_console},
    {Section::kSsh, render_ssh},           {Section::kExporters, render_exporters},
};

}  // namespace

std::vector<Setting> render_settings(const Target& target, const std::set<Section>& only) {
  std::vector<Setting> settings;
  for (const Renderer& one : kRenderers)
    if (only.empty() || only.contains(one.section)) one.render(target, settings);
  return settings;
}

}  // namespace railbed
