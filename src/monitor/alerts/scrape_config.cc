#include "monitor/alerts/scrape_config.h"

#include <fmt/format.h>

#include "base/host_port.h"
#include "base/json.h"
#include "base/yaml.h"

namespace railbed {
namespace {

// Returns only the host of a destination: "ops@gpu01", "ssh://ops@gpu01:2222", "[fe80::1]".
std::string ssh_host(const std::string& destination) {
  constexpr std::string_view kScheme = "ssh://";
  std::string_view host = destination;
  const bool address = host.starts_with(kScheme);
  if (address) host.remove_prefix(kScheme.size());
  host = host.substr(host.rfind('@') + 1);  // rfind() + 1 is 0 without a user
  if (address) host = host.substr(0, host.find('/'));
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(address ? host.substr(0, host.rfind(':')) : host);
}

std::string scrape_host(const Node& node) {
  if (node.configure.management_address) return node.configure.management_address->address.to_text();
  if (node.local) return "localhost";
  const std::string host = ssh_host(node.ssh);
  return host.empty() ? node.name : host;
}

std::string tls_lines(const ScrapeOptions& options) {
  if (!options.tls) return "";
  std::string text = "    scheme: https\n    tls_config:\n      min_version: TLS12\n";
  if (!options.authority.empty()) text += fmt::format("      ca_file: {}\n", yaml_quoted(options.authority));
  if (!options.certificate.empty())
    text += fmt::format("      cert_file: {}\n      key_file: {}\n", yaml_quoted(options.certificate),
                        yaml_quoted(options.key));
  return text;
}

std::string login_lines(const ScrapeOptions& options) {
  if (options.user.empty()) return "";
  return fmt::format("    basic_auth:\n      username: {}\n      password_file: {}\n",
                     yaml_quoted(options.user), yaml_quoted(options.password_file));
}

std::string job(const ScrapeOptions& options) {
  return fmt::format(
      "scrape_configs:\n"
      "  - job_name: railbed  # the alerts know it by this name\n"
      "    scrape_interval: 30s\n"
      "    scrape_timeout: 20s\n"
      "{}{}"
      "    file_sd_configs:\n"
      "      - files: [{}]  # beside this file; read again when it changes\n",
      tls_lines(options), login_lines(options), kTargetsFile);
}

std::string written_for(std::string_view what, const Cluster& cluster) {
  return yaml_comment(fmt::format("{} {}, written by railbed monitor files.", what, cluster.name)) + "\n";
}

}  // namespace

std::string scrape_target(const Node& node, int port) { return host_and_port(scrape_host(node), port); }

std::string render_targets(const Cluster& cluster, int port) {
  json::Value groups = json::Value::array();
  for (const Node& node : cluster.nodes) {
    json::Value group = json::Value::object();
    group["targets"] = json::Value::array({scrape_target(node, port)});
    group["labels"]["cluster"] = cluster.name;
    group["labels"]["node"] = node.name;
    groups.push_back(std::move(group));
  }
  return json::dump_pretty(groups);
}

std::string render_scrape_config(const Cluster& cluster, const ScrapeOptions& options) {
  return written_for("How Prometheus reads the nodes of", cluster) +
         "# For scrape_config_files, or to be copied into the scrape_configs of prometheus.yml.\n" +
         job(options);
}

std::string render_prometheus_config(const Cluster& cluster, const ScrapeOptions& options) {
  return written_for("Prometheus for the nodes of", cluster) +
         fmt::format(
             "global:\n  scrape_interval: 30s\n  evaluation_interval: 30s\n"
             "rule_files: [{}]\n"
             "# Whom alerts are sent to:\n"
             "# alerting:\n#   alertmanagers:\n#     - static_configs:\n"
             "#         - targets: [localhost:9093]\n",
             kAlertsFile) +
         job(options);
}

}  // namespace railbed
