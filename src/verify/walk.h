// The walks that rules go. A walk opens one Case for each thing and hands both to `look`, which ends the case
// with one verdict and may return early:
//
//   each_rail_end(survey, judge, [](Case& one, const RailEnd& end) {
//     if (one.lacks_interface(end)) return;
//     const int* mtu = one.read(end.interface->mtu);  // not readable: the case ends as unknown, with its
//     path if (mtu == nullptr) return; if (*mtu == 9000) return one.pass("9000"); one.fail({.message =
//     fmt::format("{} has MTU {}, expected 9000", end.where(), *mtu), …});
//   });
//
// GPUs that NVML answers for have theirs in gpu_view.h, the kernel's log in log_events.h, what should be
// equal on all nodes in uniform.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "verify/judge.h"

namespace railbed {

// look(Case&, const NodeView&) on every node. `touches` says what its finding is about: Things, or a function
// of the node.
template <class Touches, class Look>
void each_node(const Survey& survey, Judge& judge, std::string_view subject, const Touches& touches,
               Look&& look) {
  for (const NodeView& node : survey.nodes) {
    Things about;
    if constexpr (std::is_invocable_v<const Touches&, const NodeView&>)
      about = std::invoke(touches, node);
    else
      about = touches;
    Case one = judge.on(node, std::string(subject), std::move(about));
    look(one, node);
  }
}
template <class Look>
void each_node(const Survey& survey, Judge& judge, std::string_view subject, Look&& look) {
  each_node(survey, judge, subject, Things(), std::forward<Look>(look));
}

// For `touches`: the node itself, for what concerns everything on it.
inline Things whole_node(const NodeView& node) { return {"node:" + *node.name}; }

// … all its GPUs, or NCCL and its rails.
inline const Things& its_gpus(const NodeView& node) { return node.gpu_touches; }
inline const Things& its_nccl(const NodeView& node) { return node.nccl_touches; }

// What those ends of the node touch that `which` is true of.
template <class Which>
Things touches_of_ends(const NodeView& node, Which&& which) {
  Things touches;
  for (const RailEnd& end : node.ends)
    if (std::invoke(which, end)) touches.add(end.touches);
  return touches;
}

// look(Case&, const RailEnd&) on every end of a rail that `which` is true of; with the node between the two
// where `look` asks for it.
template <class Which, class Look>
void each_end_that(const Survey& survey, Judge& judge, Which&& which, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (!std::invoke(which, end)) continue;
      Case one = judge.on(end);
      if constexpr (std::is_invocable_v<Look&, Case&, const RailEnd&>)
        look(one, end);
      else
        look(one, node, end);
    }
}
template <class Look>
void each_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end_that(
      survey, judge, [](const RailEnd&) { return true; }, std::forward<Look>(look));
}
// Only the ends that cluster.yaml names: they have a rail and a port.
template <class Look>
void each_rail_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end_that(
      survey, judge, [](const RailEnd& end) { return end.rail != nullptr; }, std::forward<Look>(look));
}
// Every end; not applicable where it is not on InfiniBand.
template <class Look>
void each_infiniband_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end(survey, judge, [&](Case& one, const NodeView& node, const RailEnd& end) {
    if (!end.infiniband()) return one.not_applicable("not InfiniBand");
    if constexpr (std::is_invocable_v<Look&, Case&, const RailEnd&>)
      look(one, end);
    else
      look(one, node, end);
  });
}

// look(Case&, const Rail&) on every rail of cluster.yaml, about the cluster as a whole.
template <class Look>
void each_rail(const Survey& survey, Judge& judge, Look&& look) {
  for (const Rail& rail : survey.evidence.cluster.rails) {
    Case one = judge.on_cluster(rail.name, {"rail:" + rail.name});
    look(one, rail);
  }
}

// look(Case&, const NodeView&, const Thing&) on every thing that `pick` takes from a node. `name` says what
// its finding is called, `touches` what it is about, as a function of node and thing.
template <class Pick, class Name, class Touches, class Look>
void each_of(const Survey& survey, Judge& judge, const Pick& pick, const Name& name, const Touches& touches,
             Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const auto& thing : std::invoke(pick, node)) {
      Case one = judge.on(node, std::string(std::invoke(name, thing)), touches(node, thing));
      look(one, node, thing);
    }
}
template <class Pick, class Name, class Look>
void each_of(const Survey& survey, Judge& judge, const Pick& pick, const Name& name, Look&& look) {
  const auto nothing = [](const NodeView&, const auto&) { return Things(); };
  each_of(survey, judge, pick, name, nothing, std::forward<Look>(look));
}

// look(Case&, const NodeView&, const PciDevice&) on every PCI device that `pick` takes from a node.
template <class Pick, class Look>
void each_device(const Survey& survey, Judge& judge, const Pick& pick, Look&& look) {
  each_of(
      survey, judge, pick, &PciDevice::address,
      [](const NodeView& node, const PciDevice* device) { return node.touches_of(*device); },
      [&](Case& one, const NodeView& node, const PciDevice* device) { look(one, node, *device); });
}
template <class Look>
void each_adapter(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::adapters, std::forward<Look>(look));
}
template <class Look>
void each_pci_gpu(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::gpus, std::forward<Look>(look));
}
// GPUs and adapters.
template <class Look>
void each_accelerator(const Survey& survey, Judge& judge, Look&& look) {
  each_device(survey, judge, &NodeView::accelerators, std::forward<Look>(look));
}

// look(Case&, const NodeView&, const FileSystem&) on every file system that was looked at.
template <class Look>
void each_file_system(const Survey& survey, Judge& judge, Look&& look) {
  const auto pick = [](const NodeView& node) -> const auto& {
    return node.facts->system.storage.file_systems;
  };
  each_of(survey, judge, pick, &FileSystem::path, std::forward<Look>(look));
}

}  // namespace railbed
