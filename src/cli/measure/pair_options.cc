#include "cli/measure/pair_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"

namespace railbed {

void add_pair_options(CLI::App& app, PairChoice& pair) {
  app.add_option("A", pair.a, "the node that sends: an ssh destination, a node of --cluster, or localhost")
      ->required()
      ->check(no_description());
  app.add_option("B", pair.b, "the node that receives")->required()->check(no_description());
  app.add_option("--cluster", pair.cluster, "cluster.yaml that describes both nodes and their rails");
  app.add_option("--rail", pair.rail, "this rail only; without --cluster, this interface of A");
}

}  // namespace railbed
