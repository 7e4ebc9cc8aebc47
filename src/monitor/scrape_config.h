// Where Prometheus finds the nodes of a cluster, and how it reads them.
#pragma once

#include <string>

#include "inventory/cluster.h"

namespace railbed {

inline constexpr int kMonitorPort = 9885;

struct ScrapeOptions {
  int port = kMonitorPort;
  bool tls = false;
  // Files as Prometheus sees them: absolute, or relative to its configuration. Empty: none.
  std::string authority;      // whom nodes' certificates must be signed by; else the system's
  std::string certificate;    // that Prometheus shows, with its key
  std::string key;            //
  std::string user;           // with the file of the password
  std::string password_file;  //
};

inline constexpr const char* kAlertsFile = "railbed.rules.yml";
inline constexpr const char* kTargetsFile = "railbed.targets.json";
inline constexpr const char* kScrapeFile = "railbed.scrape.yml";

// Host and port of the node's exporter: the management address, else what ssh goes to, else its name.
std::string scrape_target(const Node& node, int port);

// Discovery by file (prometheus.io/docs/prometheus/latest/configuration/configuration, file_sd_config): each
// node with the labels cluster and node.
std::string render_targets(const Cluster& cluster, int port);

// What `scrape_config_files` takes; it is a whole configuration as well.
std::string render_scrape_config(const Cluster& cluster, const ScrapeOptions& options);
// For who has no prometheus.yml yet: with the rules, beside the scrape.
std::string render_prometheus_config(const Cluster& cluster, const ScrapeOptions& options);

}  // namespace railbed
