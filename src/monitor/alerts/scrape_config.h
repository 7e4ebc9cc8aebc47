// Prometheus' configuration: the nodes of a cluster as targets, and how to scrape them.
#pragma once

#include <string>

#include "inventory/cluster.h"

namespace railbed {

inline constexpr int kMonitorPort = 9885;

// Settings of the connection from Prometheus to the exporters.
struct ScrapeOptions {
  int port = kMonitorPort;
  bool tls = false;
  // Paths as Prometheus resolves them: absolute, or relative to its configuration. Empty if there is none.
  std::string authority;      // CA that signs the nodes' certificates; if empty, the system's
  std::string certificate;    // Prometheus' own certificate, with its key
  std::string key;            // key of the certificate
  std::string user;           // user of HTTP basic authentication
  std::string password_file;  // file with the user's password
};

inline constexpr const char* kAlertsFile = "railbed.rules.yml";
inline constexpr const char* kTargetsFile = "railbed.targets.json";
inline constexpr const char* kScrapeFile = "railbed.scrape.yml";

// Returns host and port of the node's exporter. The host is the management address, else the destination of
// ssh, else the node's name.
std::string scrape_target(const Node& node, int port);

// Returns the targets for discovery by file
// (prometheus.io/docs/prometheus/latest/configuration/configuration, file_sd_config): each node with the
// labels cluster and node.
std::string render_targets(const Cluster& cluster, int port);

// Returns a file for `scrape_config_files`. It is a complete configuration as well.
std::string render_scrape_config(const Cluster& cluster, const ScrapeOptions& options);
// Returns a prometheus.yml with the scrape configuration and the rules, for users who have none yet.
std::string render_prometheus_config(const Cluster& cluster, const ScrapeOptions& options);

}  // namespace railbed
