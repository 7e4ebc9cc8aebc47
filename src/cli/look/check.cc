// railbed check cluster.yaml: checks that it is valid, and shows its content.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "inventory/describe.h"
#include "inventory/load.h"
#include "verify/parts_fit.h"

namespace railbed {
namespace {

struct CheckOptions {
  std::string file = "cluster.yaml";
  bool json = false;
};

struct CheckedCluster : Cluster {
  std::vector<FitFinding> fit = {};
  static void fields(auto&& field) {
    Cluster::fields(field);
    field("fit", &CheckedCluster::fit);
  }
};
constexpr Document<CheckedCluster> kClusterDocument{"railbed-check"};

// Returns "cluster.yaml:31: warning: …", in the form of a compiler's messages.
std::string fit_text(const Cluster& cluster, const std::vector<FitFinding>& findings) {
  std::string text;
  for (const FitFinding& finding : findings)
    text += printable(fmt::format("{}:{} {}: {} [{}]", cluster.file,
                                  finding.line > 0 ? fmt::format("{}:", finding.line) : "",
                                  enum_names(finding.severity)[static_cast<std::size_t>(finding.severity)],
                                  finding.message, finding.source)) +
            '\n';
  return text;
}

int exit_code_of(const std::vector<FitFinding>& findings) {
  const auto has = [&](FitSeverity severity) {
    return std::ranges::any_of(findings,
                               [&](const FitFinding& finding) { return finding.severity == severity; });
  };
  if (has(FitSeverity::kError)) return kExitFailures;
  return has(FitSeverity::kWarning) ? kExitWarnings : kExitClean;
}

int run_check(const CheckOptions& options) {
  const auto cluster = load_cluster(options.file);
  if (!cluster) return report(cluster.error());
  auto findings = check_mig(*cluster);
  std::ranges::move(check_sharing(*cluster), std::back_inserter(findings));
  std::ranges::move(check_parts(*cluster), std::back_inserter(findings));
  if (options.json) {
    print_document(kClusterDocument, {*cluster, findings});
  } else {
    fmt::print("{}{}{}", describe(*cluster), findings.empty() ? "" : "\n", fit_text(*cluster, findings));
  }
  return exit_code_of(findings);
}

}  // namespace

Action declare_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("cluster.yaml", options->file, "the file to check")->capture_default_str();
  add_json_flag(app, options->json, "print the cluster with every default filled in", kClusterDocument);
  app.footer(
      "\nEvery complaint comes with file:line:column and a caret; nothing is asked of any machine.\n"
      "What was bought (`parts:`) is compared with itself and with the rest: each part that does not fit is named with its\n"
      "line. So are MIG instances (`configure.mig`) that the GPUs cannot have, and ways to\n"
      "share GPUs (`configure.gpu_sharing`) that cannot be. Exit codes: 0 clean, 1 warnings, 2 it does not fit, 64 not valid.\n"
      "The keys of a cluster.yaml: docs/reference/cluster-yaml.md, schema/cluster.schema.json.");
  return [options] { return run_check(*options); };
}

}  // namespace railbed
