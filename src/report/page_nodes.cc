#include <algorithm>

#include "inventory/hostlist.h"
#include "report/page_sections.h"

namespace railbed {
namespace {

// If there are more nodes than this, each gets one row in a table, and only the worst get a page of facts.
constexpr std::size_t kNodesDetailed = 32;
constexpr std::size_t kWorstDetailed = 8;

std::string shown(const std::string& value) { return value; }
std::string shown(BitRate rate) { return to_text(rate); }
std::string shown(ByteCount size) { return to_text(size); }
template <std::integral T>
std::string shown(T value) {
  return fmt::format("{}", value);
}
std::string shown(const PcieLink& link) { return fmt::format("{} GT/s x{}", link.gigatransfers, link.width); }

// Draws the value with its source as a tooltip; a dash if there is no such thing; the reason if reading it
// failed.
template <class T>
Html fact(const Reading<T>& reading) {
  if (reading) return html(R"(<span title="{}">{}</span>)", reading.from(), shown(*reading));
  if (reading.absent() || reading.miss().missing == Missing::kUnsupported)
    return html(R"(<span class="quiet" title="{}">–</span>)", describe(reading.miss(), reading.from()));
  return html(R"(<span class="unknown" title="{}">? {}</span>)", describe(reading.miss(), reading.from()),
              enum_names(reading.miss().missing)[static_cast<std::size_t>(reading.miss().missing)]);
}

Html row(std::initializer_list<Html> cells) {
  Html all;
  for (const Html& cell : cells) all += html("<td>{}</td>", cell);
  return html("<tr>{}</tr>", all);
}

Html table(std::string_view label, std::initializer_list<std::string_view> heads, const Html& rows) {
  if (rows.empty()) return {};
  Html head;
  for (const auto name : heads) head += html("<th scope=\"col\">{}</th>", name);
  return html(
      "<h4>{}</h4>{}", label,
      scrolled_table(label, html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, rows)));
}

Html text(const std::string& content) { return html("{}", content); }

Html system_list(const System& system) {
  Html all;
  const auto add = [&](std::string_view name, const Html& value) {
    all += html("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  };
  add("Host name", fact(system.os.hostname));
  add("Operating system", fact(system.os.name));
  add("Kernel", fact(system.kernel.release));
  add("Processor", fact(system.cpu.model));
  add("CPUs online", fact(system.cpu.online));
  add("Memory", fact(system.memory.total));
  std::string governors;
  if (system.cpu.governors)
    for (const auto& [name, count] : *system.cpu.governors)
      governors += fmt::format("{}{} ({})", governors.empty() ? "" : ", ", name, count);
  add("CPU governor", governors.empty() ? html(R"(<span class="quiet">–</span>)") : text(governors));
  return html(R"(<dl class="facts">{}</dl>)", all);
}

Html addresses_of(const NetInterface& interface) {
  std::string all;
  for (const InterfaceAddress& address : items(interface.addresses))
    all += fmt::format("{}{}/{}", all.empty() ? "" : ", ", address.address.to_text(), address.prefix);
  return all.empty() && !interface.addresses ? html(R"(<span class="quiet">–</span>)") : text(all);
}

Html interface_rows(const Net& net) {
  Html rows;
  for (const NetInterface& interface : items(net.interfaces)) {
    if (interface.name == "lo") continue;
    const Html speed = interface.speed_mbps && *interface.speed_mbps > 0
                           ? text(to_text(BitRate{*interface.speed_mbps * 1e6}))
                           : html(R"(<span class="quiet">–</span>)");
    rows += row({text(interface.name), fact(interface.operational_state), speed, fact(interface.mtu),
                 addresses_of(interface), fact(interface.driver), fact(interface.pci_address)});
  }
  return rows;
}

Html rdma_table(const Rdma& rdma) {
  Html rows;
  for (const RdmaDevice& device : items(rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      rows += row(
          {text(fmt::format("{}/{}", device.name, port.number)), fact(port.state), fact(port.link_layer),
           fact(port.rate), fact(port.active_mtu),
           port.gids ? text(fmt::format("{}", port.gids->size())) : html(R"(<span class="quiet">–</span>)"),
           fact(device.driver), fact(device.firmware), fact(device.pci_address)});
  return rows;
}

Html gpu_rows(const Facts& facts) {
  Html rows;
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    const PciDevice* pci = nullptr;
    for (const PciDevice& device : items(facts.pci))
      if (device.address == gpu.pci_address) pci = &device;
    const Html none = html(R"(<span class="quiet">–</span>)");
    rows += row({text(gpu.pci_address), fact(gpu.model), pci != nullptr ? fact(pci->link_now) : none,
                 pci != nullptr ? fact(pci->link_max) : none, pci != nullptr ? fact(pci->numa_node) : none});
  }
  return rows;
}

Html details_of(const SceneNode& node, const Facts* facts) {
  Html inside;
  if (facts == nullptr) {
    inside = html(R"(<p class="bad">{}</p>)", node.trouble.text);
  } else {
    inside = system_list(facts->system);
    inside +=
        table("GPUs", {"PCI address", "Model", "PCIe now", "PCIe at most", "NUMA node"}, gpu_rows(*facts));
    inside +=
        table("RDMA ports",
              {"Port", "State", "Link layer", "Rate", "MTU", "GIDs", "Driver", "Firmware", "PCI address"},
              rdma_table(facts->rdma));
    inside += table("Interfaces", {"Name", "State", "Speed", "MTU", "Addresses", "Driver", "PCI address"},
                    interface_rows(facts->net));
    inside +=
        html(R"(<p class="quiet">Point at a value to see where it was read. Collected {} by railbed {}.</p>)",
             facts->collected_at.value_or("at an unknown time"), facts->railbed);
  }
  return html(R"(<details class="node-facts"><summary><strong>{}</strong> <span class="{}">{}</span> )"
              R"(<span class="quiet">{}</span></summary>{}</details>)",
              node.name, css_class(node.trouble.health), word(node.trouble.health), summarise(node.gpus),
              inside);
}

Html fleet_table(const std::vector<SceneNode>& nodes) {
  Html rows;
  for (const SceneNode& node : nodes)
    rows +=
        row({text(node.name),
             html(R"(<span class="{}">{}</span>)", css_class(node.trouble.health), word(node.trouble.health)),
             text(summarise(node.gpus)), text(node.system), text(node.machine)});
  return html("<details><summary>All {} nodes</summary>{}</details>", nodes.size(),
              table("One row a node", {"Node", "Health", "GPUs", "System", "Machine"}, rows));
}

Html differences_table(const std::vector<Difference>& differences) {
  constexpr std::size_t kValuesShown = 12;
  Html rows;
  for (const Difference& difference : differences)
    for (std::size_t i = 0; i < std::min(difference.values.size(), kValuesShown); ++i)
      rows += row({text(i == 0 ? difference.property : ""), text(difference.values[i].value),
                   text(std::to_string(difference.values[i].nodes.size())),
                   text(fold_hosts(difference.values[i].nodes))});
  return table("In what the nodes differ", {"Property", "Value", "Nodes", "Which"}, rows);
}

}  // namespace

Html draw_nodes(const Report& report, Scene scene) {
  if (scene.nodes.empty()) return {};
  Html all = differences_table(report.differences);
  std::size_t detailed = scene.nodes.size();
  if (detailed > kNodesDetailed) {
    all += fleet_table(scene.nodes);
    std::stable_sort(scene.nodes.begin(), scene.nodes.end(), [](const SceneNode& a, const SceneNode& b) {
      return a.trouble.health > b.trouble.health;
    });
    detailed = kWorstDetailed;
    all +=
        html(R"(<p class="quiet">The facts of the {} nodes with the most serious findings:</p>)", detailed);
  }
  for (std::size_t i = 0; i < detailed; ++i) {
    const auto found = report.facts.find(scene.nodes[i].name);
    all += details_of(scene.nodes[i], found == report.facts.end() ? nullptr : &found->second);
  }
  return html(R"(<section aria-labelledby="nodes"><h2 id="nodes">Nodes</h2>{}</section>)", all);
}

}  // namespace railbed
