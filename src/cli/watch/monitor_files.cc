#include "cli/watch/monitor_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "monitor/alerts/alert_page.h"
#include "monitor/alerts/alert_rules.h"
#include "monitor/alerts/dashboards.h"
#include "monitor/alerts/scrape_config.h"

namespace railbed {
namespace {

constexpr int kHighestPort = 65535;

struct MonitorFilesCommand {
  std::string file = "cluster.yaml";
  std::string folder;
  std::string handbook;
  std::string scheme = "http";
  ScrapeOptions scrape;
};

struct MonitorFile {
  std::string name;
  std::string text;
};

std::vector<MonitorFile> monitor_files(const Cluster& cluster, const MonitorFilesCommand& command) {
  std::vector<MonitorFile> files = {{kAlertsFile, render_alert_rules(cluster, command.handbook)},
                                    {kAlertPageFile, render_alert_page(cluster)},
                                    {kTargetsFile, render_targets(cluster, command.scrape.port)},
                                    {kScrapeFile, render_scrape_config(cluster, command.scrape)},
                                    {"prometheus.yml", render_prometheus_config(cluster, command.scrape)}};
  for (const Dashboard& dashboard : dashboards())
    files.push_back({fmt::format("dashboards/{}", dashboard.file), std::string(dashboard.text)});
  return files;
}

// True if the file must not be replaced: an existing prometheus.yml may be a person's, so it is written once.
bool is_kept(const MonitorFile& file, const std::filesystem::path& path) {
  std::error_code error;
  return file.name == "prometheus.yml" && std::filesystem::exists(path, error);
}

Result<void> write_monitor_files(const std::vector<MonitorFile>& files, const std::string& folder) {
  for (const MonitorFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file.name;
    if (is_kept(file, path)) {
      fmt::print("{}  kept as it was\n", printable(path.string()));
      continue;
    }
    if (auto made = make_folder(path.parent_path()); !made) return made;
    if (auto written = write_file(path, file.text); !written) return written;
    fmt::print("{}\n", printable(path.string()));
  }
  return {};
}

int run_monitor_files(MonitorFilesCommand& command) {
  const auto cluster = load_cluster(command.file);
  if (!cluster) return report(cluster.error());
  command.scrape.tls = command.scheme == "https";
  if (!command.scrape.user.empty() && !command.scrape.tls)
    return report(
        {ErrorKind::kBadInput, "--user wants --scheme https: else everybody on the way reads the password"});
  const auto written = write_monitor_files(monitor_files(*cluster, command), command.folder);
  return written ? kExitClean : report(written.error());
}

void add_scrape_options(CLI::App& app, MonitorFilesCommand& command) {
  app.add_option("--port", command.scrape.port, "where the nodes' railbed monitor answers")
      ->check(between(1, kHighestPort))
      ->capture_default_str();
  app.add_option("--scheme", command.scheme, "http or https")
      ->check(one_of({"http", "https"}))
      ->capture_default_str();
  app.add_option("--ca", command.scrape.authority,
                 "certificates of the authority that signed the nodes' own; a path on Prometheus' machine")
      ->type_name("FILE");
  auto* certificate =
      app.add_option("--cert", command.scrape.certificate, "the certificate that Prometheus shows")
          ->type_name("FILE");
  auto* key = app.add_option("--key", command.scrape.key, "its key")->type_name("FILE")->needs(certificate);
  certificate->needs(key);
  auto* user = app.add_option("--user", command.scrape.user, "the name that Prometheus logs in by");
  auto* password = app.add_option("--password-file", command.scrape.password_file,
                                  "holds the password; it is named, never read")
                       ->type_name("FILE")
                       ->needs(user);
  user->needs(password);
}

}  // namespace

void add_monitor_files(CLI::App& app, std::shared_ptr<Action> chosen) {
  auto command = std::make_shared<MonitorFilesCommand>();
  CLI::App* const sub =
      app.add_subcommand("files", "alert rules, scrape configuration, discovery and dashboards of a cluster");
  sub->add_option("cluster.yaml", command->file, "the cluster that is watched")->capture_default_str();
  sub->add_option("-o,--output", command->folder, "folder for the files")->required()->type_name("FOLDER");
  add_scrape_options(*sub, *command);
  sub->add_option(
         "--handbook", command->handbook,
         "address that docs/reference/alerts.md is found below: alerts link to it instead of to the page that\n"
         "Prometheus serves")
      ->type_name("ADDRESS");
  sub->footer(
      "\nIt writes railbed.rules.yml (for Prometheus 2.42 and later), railbed.targets.json, railbed.scrape.yml,\n"
      "consoles/railbed-alerts.html, to which the alerts link, dashboards/*.json, and a prometheus.yml where there is none.\n"
      "Nothing is asked of any node; a reload of Prometheus takes what changed. Examples:\n"
      "  railbed monitor files cluster.yaml -o /etc/prometheus\n"
      "  railbed monitor files -o watch --scheme https --ca /etc/prometheus/nodes.pem \\\n"
      "      --user prometheus --password-file /etc/prometheus/railbed.password\n"
      "docs/how-to/prometheus.md, docs/how-to/grafana.md");
  sub->callback([command, chosen] { *chosen = [command] { return run_monitor_files(*command); }; });
}

}  // namespace railbed
