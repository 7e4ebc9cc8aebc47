#include "cli/change/plan_options.h"

#include <CLI/CLI.hpp>

#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"

namespace railbed {

void add_plan_options(CLI::App& app, PlanOptionsSaid& said) {
  app.add_option("cluster.yaml", said.request.sources.cluster, "what the nodes shall be");
  add_nodes_options(app, said.request.nodes);
  app.add_option("--only", said.only, "these sections alone, as in --only network,hosts")
      ->delimiter(',')
      ->check(one_of(words_of<Section>()));
  add_json_flag(app, said.json, "print one JSON document", kPlanDocument, kApplyDocument, kRebootDocument,
                kRenderDocument);
}

PlanRequest request_of(const PlanOptionsSaid& said) {
  PlanRequest request = said.request;
  for (const std::string& one : said.only) request.only.insert(enum_of<Section>(one));
  return request;
}

}  // namespace railbed
