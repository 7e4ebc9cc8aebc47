// Walks for rules. A walk opens one Case for each thing and passes both to `look`, which ends the case with
// one verdict and may return early:
//
//   each_rail_end(survey, judge, [](Case& one, const RailEnd& end) {
//     if (one.lacks_interface(end)) return;
//     const int* mtu = one.read(end.interface->mtu);  // unreadable: the case ends as unknown, with its path
//     if (mtu == nullptr) return;
//     if (*mtu == 9000) return one.pass("9000");
//     one.fail({.message = fmt::format("{} has MTU {}, expected 9000", end.where(), *mtu), …});
//   });
//
// Related walks: GPUs that NVML reports on are in gpu_view.h, events of the kernel's log in log_events.h,
// values that should be equal on all nodes in uniform.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "verify/judge.h"

namespace railbed {

// Calls look(Case&, const NodeView&) on every node. `touches` is what its findings are about: Things, or a
// function of the node.
template <class Touches, class Look>
void each_node(const Survey& survey, Judge& judge, std::string_view subject, const Touches& touches,
               Look&& look) {
  for (const NodeView& node : survey.nodes) {
    Things about;
    if constexpr (std::is_invocable_v<const Touches&, const NodeView&>)
      about = std::invoke(touches, node);
    else
      about = touches;
    Case verdict = judge.on(node, std::string(subject), std::move(about));
    look(verdict, node);
  }
}
template <class Look>
void each_node(const Survey& survey, Judge& judge, std::string_view subject, Look&& look) {
  each_node(survey, judge, subject, Things(), std::forward<Look>(look));
}

// Argument for `touches`: the node itself, for findings that concern everything on it.
inline Things whole_node(const NodeView& node) { return {"node:" + *node.name}; }

// Arguments for `touches`: all GPUs of the node; NCCL and the node's rails.
inline const Things& its_gpus(const NodeView& node) { return node.gpu_touches; }
inline const Things& its_nccl(const NodeView& node) { return node.nccl_touches; }

// Returns what the ends of the node touch for which `which` is true.
template <class Which>
Things touches_of_ends(const NodeView& node, Which&& which) {
  Things touches;
  for (const RailEnd& end : node.ends)
    if (std::invoke(which, end)) touches.add(end.touches);
  return touches;
}

// Calls look(Case&, const RailEnd&) on every end for which `which` is true. If `look` takes a NodeView, it is
// passed between the two.
template <class Which, class Look>
void each_end_that(const Survey& survey, Judge& judge, Which&& which, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (!std::invoke(which, end)) continue;
      Case verdict = judge.on(end);
      if constexpr (std::is_invocable_v<Look&, Case&, const RailEnd&>)
        look(verdict, end);
      else
        look(verdict, node, end);
    }
}
// Walks over every end, with or without a rail.
template <class Look>
void each_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end_that(
      survey, judge, [](const RailEnd&) { return true; }, std::forward<Look>(look));
}
// Walks over the ends that cluster.yaml names; they have a rail and a port.
template <class Look>
void each_rail_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end_that(
      survey, judge, [](const RailEnd& end) { return end.rail != nullptr; }, std::forward<Look>(look));
}
// Walks over every end. An end that is not on InfiniBand ends as not applicable.
template <class Look>
void each_infiniband_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end(survey, judge, [&](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (!end.infiniband()) return verdict.not_applicable("not InfiniBand");
    if constexpr (std::is_invocable_v<Look&, Case&, const RailEnd&>)
      look(verdict, end);
    else
      look(verdict, node, end);
  });
}

// Calls look(Case&, const Rail&) on every rail of cluster.yaml, with a case about the cluster as a whole.
template <class Look>
void each_rail(const Survey& survey, Judge& judge, Look&& look) {
  for (const Rail& rail : survey.evidence.cluster.rails) {
    Case verdict = judge.on_cluster(rail.name, {"rail:" + rail.name});
    look(verdict, rail);
  }
}

// Calls look(Case&, const NodeView&, const Thing&) on every thing that `pick` returns for a node. `name` is
// the subject of its finding; `touches` returns what the finding is about, as a function of node and thing.
template <class Pick, class Name, class Touches, class Look>
void each_of(const Survey& survey, Judge& judge, const Pick& pick, const Name& name, const Touches& touches,
             Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const auto& thing : std::invoke(pick, node)) {
      Case verdict = judge.on(node, std::string(std::invoke(name, thing)), touches(node, thing));
      look(verdict, node, thing);
    }
}
template <class Pick, class Name, class Look>
void each_of(const Survey& survey, Judge& judge, const Pick& pick, const Name& name, Look&& look) {
  const auto nothing = [](const NodeView&, const auto&) { return Things(); };
  each_of(survey, judge, pick, name, nothing, std::forward<Look>(look));
}

// Calls look(Case&, const NodeView&, const PciDevice&) on every PCI device that `pick` returns for a node. A node
// whose devices a report does not hold gets one case of its own, which is unknown.
template <class Pick, class Look>
void each_device(const Survey& survey, Judge& judge, const Pick& pick, Look&& look) {
  for (const NodeView& node : survey.nodes)
    if (node.facts->pci.unknown()) (void)judge.on(node, "PCI devices").read(node.facts->pci);
  each_of(
      survey, judge, pick, &PciDevice::address,
      [](const NodeView& node, const PciDevice* device) { return node.touches_of(*device); },
      [&](Case& verdict, const NodeView& node, const PciDevice* device) { look(verdict, node, *device); });
}
template <class Look>
void each_adapter(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::adapters, std::forward<Look>(look));
}
template <class Look>
void each_pci_gpu(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::gpus, std::forward<Look>(look));
}
// Walks over GPUs and adapters.
template <class Look>
void each_accelerator(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::accelerators, std::forward<Look>(look));
}

// Calls look(Case&, const NodeView&, const FileSystem&) on every file system with facts.
template <class Look>
void each_file_system(const Survey& survey, Judge& judge, Look&& look) {
  const auto pick = [](const NodeView& node) -> const auto& {
    return node.facts->system.storage.file_systems;
  };
  each_of(survey, judge, pick, &FileSystem::path, std::forward<Look>(look));
}

}  // namespace railbed
