// railbed advise rails: from a number of nodes and rails to addresses, cables, switches and a cluster.yaml.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/fields.h"
#include "base/files.h"
#include "cli/document.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/plan/schedule_output.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "predict/rail_plan.h"
#include "report/text/rail_plan_text.h"

namespace railbed {
namespace {

struct RailsOptions {
  RailPlanRequest request;
  std::string speed = "100G";
  std::string fabric = "roce";
  std::string network = "10.0.0.0";
  StorageNetworkRequest storage;
  int storage_servers = 0;     // 0: no network for storage
  std::string storage_speed;   // empty: as the rails
  std::string storage_fabric;  // empty: as the rails
  std::string output;
  std::string labels;
  std::string page;
  bool force = false;
  std::string topology;
  bool json = false;
};

struct RailsOutput {
  RailPlan plan;
  FIELDS(RailsOutput, plan);
};
constexpr Document<RailsOutput> kRailsDocument{"railbed-advise-rails"};

Result<std::optional<StorageNetworkRequest>> storage_of(const RailsOptions& options,
                                                        const RailPlanRequest& rails) {
  if (options.storage_servers == 0) return std::nullopt;
  StorageNetworkRequest storage = options.storage;
  storage.servers = options.storage_servers;
  storage.speed = rails.speed;
  if (!options.storage_speed.empty()) {
    ASSIGN_OR_RETURN(storage.speed, rate_option("--storage-speed", options.storage_speed));
  }
  storage.fabric = options.storage_fabric.empty() ? rails.fabric : enum_of<Fabric>(options.storage_fabric);
  return storage;
}

Result<RailPlan> plan_of(const RailsOptions& options) {
  RailPlanRequest request = options.request;
  ASSIGN_OR_RETURN(const auto speed, rate_option("--speed", options.speed));
  request.speed = speed;
  request.fabric = enum_of<Fabric>(options.fabric);
  const auto network = IpAddress::parse(options.network);
  if (!network)
    return fail(ErrorKind::kBadInput,
                fmt::format("--network {}: write an IPv4 network, as 10.0.0.0", options.network));
  request.network = *network;
  ASSIGN_OR_RETURN(request.storage, storage_of(options, request));
  return plan_rails(request);
}

// Returns the text after railbed's own parser has accepted it.
Result<std::string> description_of(const RailPlan& plan) {
  std::string text = write_cluster(
      plan.cluster,
      {"Written by `railbed advise rails`: interfaces and ssh are as planned, correct what differs."});
  RETURN_IF_ERROR(parse_cluster(text, "the plan"));
  return text;
}

struct PlannedFile {
  std::string path;
  std::string text;
};

Result<std::vector<PlannedFile>> files_of(const RailsOptions& options, const RailPlan& plan) {
  std::vector<PlannedFile> files;
  ASSIGN_OR_RETURN(const auto description, description_of(plan));
  if (!options.output.empty()) files.push_back({options.output, description});
  if (!options.labels.empty()) files.push_back({options.labels, cable_labels_text(plan)});
  if (!options.page.empty()) files.push_back({options.page, rail_plan_page(plan)});
  std::error_code ignored;  // the write below fails with the reason
  for (const PlannedFile& file : files)
    if (!options.force && std::filesystem::is_regular_file(file.path, ignored))
      return fail(ErrorKind::kBadInput, fmt::format("{} is there already; --force replaces it", file.path));
  return files;
}

int run_rails(const RailsOptions& options) {
  const auto plan = plan_of(options);
  if (!plan) return report(plan.error());
  const auto files = files_of(options, *plan);
  if (!files) return report(files.error());
  for (const PlannedFile& file : *files)
    if (const auto written = write_file(file.path, file.text); !written) return report(written.error());
  if (!options.topology.empty()) {
    for (const PlannedFile& file : *files) print_to_stderr("railbed: wrote {}\n", file.path);
    return print_schedule(schedule_tree(wiring_of(*plan)), options.topology);
  }
  if (options.json)
    print_document(kRailsDocument, RailsOutput{.plan = *plan});
  else
    fmt::print("{}", rail_plan_text(*plan));
  for (const PlannedFile& file : *files) print_to_stderr("railbed: wrote {}\n", file.path);
  return kExitClean;
}

}  // namespace

Action declare_advise_rails(CLI::App& app) {
  auto options = std::make_shared<RailsOptions>();
  RailPlanRequest& request = options->request;
  app.add_option("--nodes", request.nodes, "how many (default 2)")->check(between(2, 4096));
  app.add_option("--rails", request.rails, "network ports of each (default 1)")->check(between(1, 16));
  app.add_option("--speed", options->speed, "speed of each port (default 100G)");
  app.add_option("--fabric", options->fabric, "roce (default), infiniband, ethernet")
      ->check(one_of(words_of<Fabric>()));
  app.add_option("--prefix", request.prefix, "of the nodes' names (default gpu: gpu01, gpu02)");
  app.add_option("--interface", request.interfaces,
                 "of each rail, in order: ens6,ens6d1 (default eth100, eth101, …)")
      ->delimiter(',');
  app.add_option("--network", options->network,
                 "where rail 0's addresses begin (default 10.0.0.0; rail 1: 10.1.0.0)");
  app.add_option("--switch-model", request.switch_model,
                 "plan with this one: SN3700 (default: the fewest that fit)");
  app.add_flag("--switch", request.always_switch, "over a switch even where two nodes need none");
  app.add_option("--metres", request.metres, "length of each cable (default 2)")
      ->check(between(0.1, 10000.0));
  auto* servers = app.add_option("--storage", options->storage_servers,
                                 "plan a network of its own for storage, with so many file servers")
                      ->check(between(1, 4096));
  app.add_option("--storage-speed", options->storage_speed, "speed of its ports (default: as the rails)")
      ->needs(servers);
  app.add_option("--storage-fabric", options->storage_fabric, "what it is made of (default: as the rails)")
      ->check(one_of(words_of<Fabric>()))
      ->needs(servers);
  app.add_option("--storage-interface", options->storage.interface,
                 "its interface on nodes and servers (default: the one after the rails')")
      ->needs(servers);
  app.add_option("--storage-prefix", options->storage.prefix,
                 "of the servers' names (default store: store01)")
      ->needs(servers);
  app.add_option("--storage-switch-model", options->storage.switch_model,
                 "plan it with this one (default: the fewest that fit)")
      ->needs(servers);
  app.add_option("-o,--output", options->output, "write a cluster.yaml that `railbed check` accepts");
  app.add_option("--labels", options->labels, "write labels as text: two lines for each end of each cable");
  app.add_option("--page", options->page,
                 "write a page to print: the drawing, the cabling list, sheets of labels");
  app.add_flag("--force", options->force, "replace files that are there already");
  auto* topology = add_schedule_format(app, "--topology", options->topology);
  add_json_flag(app, options->json, "print one JSON document", kRailsDocument)->excludes(topology);
  app.footer(
      "\nExamples:\n"
      "  railbed advise rails --nodes 4 --rails 2 --speed 100G\n"
      "  railbed advise rails --nodes 2 --rails 2 --speed 40G --interface ens6,ens6d1 -o cluster.yaml\n"
      "  railbed advise rails --nodes 32 --rails 8 --speed 400G --fabric infiniband --page rails.html\n"
      "  railbed advise rails --nodes 4 --rails 1 --speed 100G --storage 1 --storage-speed 40G\n\n"
      "Rail r of every node meets on one switch, or on its own leaves and spines. A network for storage has a port of\n"
      "each node and each file server, and switches of its own: collectives and checkpoints do not wait for each\n"
      "other. Files are written whole or not at all. docs/how-to/plan-a-cluster.md");
  return [options] { return run_rails(*options); };
}

}  // namespace railbed
