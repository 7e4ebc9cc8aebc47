// The rules of a subnet. The code in judge_*.cc judges them; for each, judge_test.cc has a case in which it
// alone is red.
#include <algorithm>

#include "fabric/judge.h"

namespace railbed {
namespace {

constexpr std::string_view kFromNodes =
    "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover";
constexpr std::string_view kFromPorts = "PortInfo of both ends, or a dump of ibnetdiscover";
constexpr std::string_view kFromCounters = "PerfMgt PortCounters of every cabled port";
constexpr std::string_view kFromPlan = "the plan (--plan), as --learn wrote it of the healthy subnet";

Rule row(std::string_view id, std::string_view title, std::string_view why, std::string_view source,
         std::string_view standard, std::string_view remedy,
         std::vector<std::string_view> explained_by = {}) {
  return {id, title, why, source, standard, remedy, "", std::move(explained_by), {}, false, nullptr};
}

std::vector<Rule> make_rules() {
  return {
      row("fabric.missing-node", "Every planned switch and HCA is in the subnet",
          "What is dark carries nothing; a dead switch takes all that is behind it along.", kFromNodes,
          kFromPlan, "Look at its power and its console, then at the cable."),
      row("fabric.missing-link", "Every planned cable has a link",
          "The others carry its share, and a tree that lacks one is uneven.", kFromPorts, kFromPlan,
          "Plug the cable in or reseat it, then swap it."),
      row("fabric.cabling", "Every cable is in the hole that the plan says",
          "Cables in wrong holes break rails and the balance of a tree, and look healthy to each port.",
          kFromPorts, kFromPlan, "Move or swap the cables that the finding names."),
      row("fabric.unplanned", "Nothing is in the subnet that the plan does not know",
          "It takes addresses and bandwidth, and may be what is missing elsewhere.", kFromNodes, kFromPlan,
          "Unplug it, or learn a new plan (--learn)."),
      row("fabric.replaced", "Nodes have the GUIDs of the plan",
          "Partitions, routing and licences may name the old GUID.", kFromNodes, kFromPlan,
          "Learn a new plan (--learn)."),
      row("fabric.width", "Every cable runs on all its lanes",
          "A 4x cable on one lane has a quarter of its speed.", kFromPorts,
          "The plan; else what both ends support, and what most cables of its kind have",
          "Clean and reseat the cable, then swap it."),
      row("fabric.speed", "Every cable runs at its full speed",
          "One slow cable slows every collective that crosses it.", kFromPorts,
          "The plan; else what both ends support, and what most cables of its kind have",
          "Clean and reseat the cable; see that it is made for this speed, and that no port is set lower."),
      row("fabric.asymmetry", "Both ends of a cable agree", "One of the two drops what the other sends.",
          kFromPorts, "Equal width and speed at both ends", "Make both negotiate anew."),
      row("fabric.port-state", "Every port with a link is active",
          "Without it nothing but management passes.", kFromPorts, "ACTIVE (InfiniBand specification, 7.2.7)",
          "Read the subnet manager's log: it says why.", {"fabric.no-manager"}),
      row("fabric.silent", "What has a link answers",
          "Firmware that hangs, or a cable that loses every packet.", "NodeInfo, asked three times",
          "An answer", "Restart what is behind the port."),
      row("fabric.duplicate-guid", "No GUID is there twice", "Packets for the one reach the other.",
          kFromNodes, "One owner", "Give one the GUID of its label."),
      row("fabric.duplicate-lid", "No LID is there twice", "Packets for the one reach the other.", kFromPorts,
          "One owner", "Restart the subnet manager; see that there is one."),
      row("fabric.no-manager", "A subnet manager is master",
          "Without one no port gets an address or becomes active.", "SMInfo of every port that says IsSM",
          "One master", "Start OpenSM where it belongs."),
      row("fabric.two-managers", "One subnet manager at most is master",
          "Two of them give addresses against each other.", "SMInfo of every port that says IsSM",
          "One master, others standby", "Stop one; see that their keys agree."),
      row("fabric.errors", "No port counts errors now",
          "Each costs a packet sent again, or a link that trains anew.", kFromCounters,
          "Grown within --window: see docs/how-to/infiniband-fabric.md for each counter's rate",
          "Reseat the cable, then swap it, then use another port."),
      row("fabric.counters", "No port has counted many errors", "It was sick at some time, and may be again.",
          kFromCounters, "ibqueryerrors' thresholds (error_thresholds of infiniband-diags)",
          "Set the counters to zero and look again after a day.", {"fabric.errors"}),
      row("fabric.congestion", "No port waits for credits",
          "Its traffic, and what queues behind it, is late.", kFromCounters,
          "XmitWait below half of XmitWait and XmitData (ours)",
          "Look for the narrow cable or the many senders behind it."),
      row("fabric.incomplete", "A tree has as many cables up everywhere",
          "Routes crowd on the cables that are left.", kFromPorts,
          "As most switches of the level; with a plan, the plan", "Look at the dark ports."),
      row("fabric.oversubscription", "Leaves carry up what comes from below",
          "Jobs over several leaves share what is less.", kFromPorts,
          "--oversubscription; else as most leaves, or the plan",
          "Add cables to the spines, or connect fewer HCAs."),
      row("fabric.rails", "Each leaf has the same device of every host",
          "A rail that crosses to another leaf shares the spines with everybody.", kFromNodes,
          "The device that two thirds of a leaf's HCAs are", "Move the cable to its own rail's leaf."),
      row("fabric.odd-switch", "Switches of a level are alike",
          "Another device or revision has other limits and other firmware.", kFromNodes,
          "As most of the level", "See whether its maker lets it be mixed with the others."),
  };
}

}  // namespace

std::span<const Rule> subnet_rules() {
  static const std::vector<Rule> kRules = make_rules();
  return kRules;
}

}  // namespace railbed
