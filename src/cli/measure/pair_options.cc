#include "cli/measure/pair_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"

namespace railbed {
namespace {

constexpr const char* kInstead = "write two of its nodes, and behind --cluster the description";

}  // namespace

void add_pair_options(CLI::App& app, PairChoice& pair) {
  app.add_option("A", pair.a, "the node that sends: an ssh destination, a node of --cluster, or localhost")
      ->required()
      ->check(no_description(kInstead));
  app.add_option("B", pair.b, "the node that receives")->required()->check(no_description(kInstead));
  app.add_option("--cluster", pair.cluster, "cluster.yaml that describes both nodes and their rails");
  app.add_option("--rail", pair.rail, "this rail only; without --cluster, this interface of A");
}

}  // namespace railbed
