// railbed advise: the possibilities of existing hardware, or of hardware that is about to be bought.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/text.h"
#include "campaign/look/gather.h"
#include "campaign/look/technology_columns.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/output.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "hardware/gpu_product.h"
#include "hardware/part_model.h"
#include "report/text/technology_table.h"
#include "settings/platform.h"

namespace railbed {
namespace {

struct MatrixOptions {
  Sources sources;
  bool planned = false;
  std::vector<std::string> gpus;
  std::vector<std::string> adapters;
  std::string os;
  std::string processor;
  bool json = false;
  bool markdown = false;
  ReachOptions reach;

  bool named() const { return !gpus.empty() || !adapters.empty() || !os.empty() || !processor.empty(); }
};

struct MatrixOutput {
  std::vector<TechnologyColumn> columns;
  FIELDS(MatrixOutput, columns);
};
constexpr Document<MatrixOutput> kMatrixDocument{"railbed-advise-matrix"};

// Returns an error for a part that no table has, with the name that it resembles.
template <class Rows>
Error no_such_part(std::string_view what, std::string_view name, const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  std::string meant = did_you_mean(name, names);
  // "Tesla T44": the last word is the model.
  if (const std::size_t space = name.rfind(' '); meant.empty() && space != std::string_view::npos)
    meant = did_you_mean(name.substr(space + 1), names);
  return {ErrorKind::kBadInput, fmt::format("no {} \"{}\" is known{}", what, printable(name), meant)};
}

Result<void> check_named(const MatrixOptions& options) {
  for (const std::string& gpu : options.gpus)
    if (find_gpu_product(gpu) == nullptr)
      return tl::unexpected<Error>(no_such_part("GPU", gpu, gpu_products()));
  for (const std::string& adapter : options.adapters)
    if (find_nic_of_part(adapter) == nullptr)
      return tl::unexpected<Error>(no_such_part("adapter", adapter, nic_models()));
  const std::string system = lower(options.os.substr(0, options.os.find_first_of(" -0123456789")));
  const auto systems = systems_known();
  if (!options.os.empty() && std::ranges::find(systems, system) == systems.end()) {
    const std::string meant = did_you_mean(system, systems);
    return fail(
        ErrorKind::kBadInput,
        fmt::format(
            "no system \"{}\" is known{} Write ID and VERSION_ID of /etc/os-release, as in \"rhel 9\"",
            printable(options.os), meant.empty() ? "." : meant));
  }
  return {};
}

// Returns one column for each GPU that was named.
std::vector<TechnologyColumn> columns_named(const MatrixOptions& options) {
  TechnologyStack stack;
  stack.adapters = options.adapters;
  stack.os = options.os;
  stack.processor = options.processor;
  std::vector<TechnologyColumn> columns;
  for (const std::string& gpu : options.gpus.empty() ? std::vector<std::string>{""} : options.gpus) {
    stack.gpu = gpu;
    columns.push_back({stack, {}, technology_cells(stack)});
  }
  return columns;
}

Result<std::vector<TechnologyColumn>> matrix_columns(const MatrixOptions& options) {
  RETURN_IF_ERROR(check_named(options));
  if (options.named()) return columns_named(options);
  if (options.planned && options.sources.cluster.empty())
    return fail(ErrorKind::kBadInput, "--planned goes by a cluster.yaml: name it");
  ASSIGN_OR_RETURN(const auto evidence,
                   options.planned ? read_sources(options.sources, say_to_person)
                                   : gather_evidence(options.sources, options.reach, terminal_caller()));
  for (const Unreachable& node : evidence.unreachable)
    print_to_stderr("railbed: {} was not reached; what cluster.yaml says of it counts\n", node.node);
  return technology_columns(evidence);
}

int run_matrix(const MatrixOptions& options) {
  const auto columns = matrix_columns(options);
  if (!columns) return report(columns.error());
  if (options.markdown) keep_lines_whole();
  if (options.json)
    print_document(kMatrixDocument, MatrixOutput{.columns = *columns});
  else
    fmt::print("{}", options.markdown ? technology_markdown(*columns) : technology_text(*columns));
  return kExitClean;
}

Action declare_matrix(CLI::App& app) {
  auto options = std::make_shared<MatrixOptions>();
  auto* cluster = app.add_option("cluster.yaml", options->sources.cluster,
                                 "ask every node it names; without it, look at this machine");
  auto* planned = app.add_flag("--planned", options->planned,
                               "ask no node: go by what cluster.yaml expects of them, and by its parts");
  auto* root = app.add_option(
      "--root", options->sources.root,
      "look at a captured machine instead: a folder like /, a .tree file, or a folder of them");
  auto* facts =
      app.add_option("--facts", options->sources.facts, "go by facts that `railbed facts --json` printed");
  const std::vector<CLI::Option*> said = {
      app.add_option("--gpu", options->gpus, "a GPU that you may buy: \"Tesla T4\"; may be repeated"),
      app.add_option("--nic", options->adapters, "an adapter beside it: \"ConnectX-4\"; may be repeated"),
      app.add_option("--os", options->os, "the operating system: \"rhel 9\", \"ubuntu 24.04\""),
      app.add_option("--cpu", options->processor, "the processor: \"Xeon E5-2697 v2\"")};
  for (CLI::Option* option : said)
    for (CLI::Option* source : {cluster, planned, root, facts}) option->excludes(source);
  auto* json = add_json_flag(app, options->json, "print one JSON document", kMatrixDocument);
  app.add_flag("--markdown", options->markdown, "print a table in Markdown")->excludes(json);
  add_fleet_options(app, options->reach);
  app.footer(
      "\nExamples:\n"
      "  railbed advise matrix                              this machine\n"
      "  railbed advise matrix cluster.yaml                 every node\n"
      "  railbed advise matrix cluster.yaml --planned       before the nodes are there\n"
      "  railbed advise matrix --gpu T4 --gpu P4 --nic ConnectX-4 --os \"rhel 10\"\n\n"
      "Each cell has a reason and a source, or says what would tell. docs/reference/advise.md");
  return [options] { return run_matrix(*options); };
}

}  // namespace

Action declare_advise(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  const auto add = [&](const char* name, const char* summary, Action (*declare)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, summary);
    command->callback([chosen, action = declare(*command)] { *chosen = action; });
  };
  add("matrix", "which of NVIDIA's technologies work on these nodes, and why", declare_matrix);
  add("gpus", "GPU models compared by their data sheets", declare_advise_gpus);
  add("rails", "N nodes × R rails: addresses, cables, labels, switches, cluster.yaml", declare_advise_rails);
  add("switch", "back to back, a ring or a switch at this number of nodes, and why", declare_advise_switch);
  add("upgrades", "what holds these nodes' network, and what each upgrade buys", declare_advise_upgrades);
  app.require_subcommand(1);
  app.footer("\nrailbed advise rails --help shows its options.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace railbed
