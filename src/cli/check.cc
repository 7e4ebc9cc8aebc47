// railbed check cluster.yaml: is it valid, and what does it say?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "inventory/describe.h"
#include "inventory/load.h"

namespace railbed {
namespace {

struct CheckOptions {
  std::string file = "cluster.yaml";
  bool json = false;
};

int run_check(const CheckOptions& options) {
  const auto cluster = load_cluster(options.file);
  if (!cluster) return report(cluster.error());
  fmt::print("{}", options.json ? json::dump_pretty(json::encode(*cluster)) : describe(*cluster));
  return kExitClean;
}

}  // namespace

Action declare_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("cluster.yaml", options->file, "the file to check")->capture_default_str();
  app.add_flag("--json", options->json, "print the cluster with every default filled in");
  app.footer(
      "\nEvery complaint comes with file:line:column and a caret; nothing is asked of any machine.\n"
      "The keys of a cluster.yaml: docs/reference/cluster-yaml.md, schema/cluster.schema.json.");
  return [options] { return run_check(*options); };
}

}  // namespace railbed
