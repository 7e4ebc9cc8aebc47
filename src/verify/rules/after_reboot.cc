// Rules that prove that railbed's changes to a node survive a reboot: `railbed verify --after-reboot`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Calls look(Case&, const NodeView&, const AfterReboot&) on every node that was queried.
template <class Look>
void each_asked(const Survey& survey, Judge& judge, std::string_view subject, const Look& look) {
  for (const NodeView& node : survey.nodes) {
    const auto asked = survey.evidence.after_reboot.find(*node.name);
    if (asked == survey.evidence.after_reboot.end()) continue;
    Case verdict = judge.on(node, std::string(subject), whole_node(node));
    if (asked->second.error.empty())
      look(verdict, node, asked->second);
    else
      verdict.unknown(asked->second.error);
  }
}

void started_anew(const Survey& survey, Judge& judge) {
  each_asked(survey, judge, "reboot", [](Case& verdict, const NodeView& node, const AfterReboot& asked) {
    verdict.add_evidence("the history of applies, /proc/sys/kernel/random/boot_id");
    if (asked.apply.empty()) return verdict.not_applicable("railbed has changed nothing here");
    if (!asked.this_boot) return verdict.pass("started anew since apply " + asked.apply);
    verdict.warn(
        {.message = fmt::format("{} has not rebooted since apply {}: that its settings outlive a reboot "
                                "is not proven",
                                *node.name, asked.apply),
         .expected = "a boot after the last apply",
         .observed = "the boot in which it was made",
         .remedy = {"Reboot the node when no job runs, and look again.", {"systemctl reboot"}, true}});
  });
}

void settings_kept(const Survey& survey, Judge& judge) {
  each_asked(survey, judge, "settings", [](Case& verdict, const NodeView& node, const AfterReboot& asked) {
    verdict.add_evidence("railbed plan, as root");
    if (asked.lost.empty()) return verdict.pass("all that cluster.yaml asks for is so");
    verdict.fail(
        {.message =
             fmt::format("{} is not as cluster.yaml says: {}", *node.name, fmt::join(asked.lost, "; ")),
         .expected = "nothing for `railbed plan` to change",
         .observed = fmt::format("{} to change", asked.lost.size()),
         .remedy = {"See on the controller what `railbed plan --as-root` says of it, and apply it again."}});
  });
}

}  // namespace

std::span<const Rule> after_reboot_rules() {
  static const Rule kRules[] = {
      {.id = "host.rebooted",
       .title = "node has rebooted since it was changed",
       .why = "What is set now may be gone after the next boot; only a boot proves that it is not.",
       .source = "the applies that the node remembers, beside the name of its boot",
       .standard = "a boot since the last apply; judged by `railbed verify --after-reboot` alone",
       .remedy = "Reboot it when no job runs: `railbed apply --reboot`, or by hand.",
       .fixture = "v100-not-rebooted",
       .explained_by = {},
       .check = started_anew},
      {.id = "host.settings-kept",
       .title = "node is as cluster.yaml says",
       .why = "A setting that a boot lost is found by the first job that needs it, if nobody looks before.",
       .source = "the settings of `railbed plan`, as root",
       .standard = "nothing to change; judged by `railbed verify --after-reboot` alone",
       .remedy = "Apply it again, and find out what undid it.",
       .fixture = "v100-settings-lost",
       .explained_by = {},
       .check = settings_kept},
  };
  return kRules;
}

}  // namespace railbed
