// railbed monitor files: the files by which Prometheus and Grafana watch a cluster.
#pragma once

#include <memory>

#include "cli/command.h"

namespace railbed {

void add_monitor_files(CLI::App& app, std::shared_ptr<Action> chosen);

}  // namespace railbed
