// railbed advise switch: back to back, a ring or a switch at a number of nodes, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "cli/document.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "predict/switch_advice.h"
#include "report/text/rail_plan_text.h"

namespace railbed {
namespace {

struct SwitchOptions {
  SwitchQuestion question;
  std::string speed = "100G";
  std::string fabric = "roce";
  std::string kind;  // empty: the usual one of the network
  double microseconds = 0.85;
  bool json = false;
};

struct SwitchOutput {
  SwitchAdvice advice;
  FIELDS(SwitchOutput, advice);
};
constexpr Document<SwitchOutput> kSwitchDocument{"railbed-advise-switch"};

int run_switch(const SwitchOptions& options) {
  SwitchQuestion question = options.question;
  const auto speed = rate_option("--speed", options.speed);
  if (!speed) return report(speed.error());
  question.speed = *speed;
  question.fabric = enum_of<Fabric>(options.fabric);
  question.kind = options.kind.empty() ? usual_switch(question.fabric == Fabric::kInfiniband)
                                       : enum_of<SwitchClass>(options.kind);
  question.latency = Nanoseconds{options.microseconds * 1000};
  const SwitchAdvice advice = advise_switch(question);
  if (options.json)
    print_document(kSwitchDocument, SwitchOutput{.advice = advice});
  else
    fmt::print("{}", switch_advice_text(advice, question.nodes));
  return kExitClean;
}

}  // namespace

Action declare_advise_switch(CLI::App& app) {
  auto options = std::make_shared<SwitchOptions>();
  app.add_option("--nodes", options->question.nodes, "how many (default 2)")->check(between(2, 4096));
  app.add_option("--rails", options->question.ports, "network ports of each (default 1)")
      ->check(between(1, 16));
  app.add_option("--speed", options->speed, "speed of each port (default 100G)");
  app.add_option("--fabric", options->fabric, "roce (default), infiniband, ethernet")
      ->check(one_of(words_of<Fabric>()));
  app.add_option(
         "--switch-class", options->kind,
         "infiniband (default of InfiniBand), cut-through (default of Ethernet), store-and-forward, low-cost: what a hop costs")
      ->check(one_of(words_of<SwitchClass>()));
  app.add_option("--latency", options->microseconds,
                 "microseconds of a message back to back, as `railbed bench rdma` measures (default 0.85)")
      ->check(between(0.1, 10000.0));
  add_json_flag(app, options->json, "print one JSON document", kSwitchDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed advise switch --nodes 2 --rails 2 --speed 40G\n"
      "  railbed advise switch --nodes 3 --rails 2 --speed 200G     three DGX Sparks: a ring\n"
      "  railbed advise switch --nodes 16 --switch-class low-cost\n\n"
      "Then: railbed advise rails. docs/how-to/plan-a-cluster.md");
  return [options] { return run_switch(*options); };
}

}  // namespace railbed
