#include "monitor/node_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "campaign/look/evidence.h"
#include "facts/network/counts_answer.h"
#include "fleet/fleet.h"
#include "fleet/session.h"
#include "host/host.h"
#include "host/open.h"
#include "inventory/cluster.h"
#include "model/watched_link.h"
#include "monitor/live/live_meter.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kFactsDeadline{60};  // a GPU that hangs takes its whole deadline
constexpr std::chrono::seconds kCountsDeadline{10};
constexpr std::chrono::seconds kFactsFresh{60};

// Returns the context that all sessions share, so that the agent's binary is read and hashed only once.
// Connections are not shared with other programs, because these stay open.
std::shared_ptr<fleet::FleetContext> context_of(const Cluster& cluster, ReachOptions reach) {
  reach.ssh_config = cluster.ssh_config;
  reach.share_connections = false;
  if (reach.binary.empty()) reach.binary = fleet::own_program();
  return std::make_shared<fleet::FleetContext>(std::move(reach));
}

// Returns the readings of the interfaces that were asked for, within the bounds that an honest agent keeps.
LinkReadings within_bounds(LinkReadings links, const std::vector<std::string>& asked) {
  constexpr std::size_t kMostAlarms = 256;
  constexpr std::size_t kLongestText = 128;
  std::erase_if(links, [&](const auto& link) { return std::ranges::find(asked, link.first) == asked.end(); });
  for (auto& [name, reading] : links) {
    if (auto& optics = reading.optics) {
      optics->lanes.resize(std::min(optics->lanes.size(), kMostLanes));
      optics->alarms.resize(std::min(optics->alarms.size(), kMostAlarms));
      for (std::string& alarm : optics->alarms) alarm.resize(std::min(alarm.size(), kLongestText));
      optics->serial.resize(std::min(optics->serial.size(), kLongestText));
    }
    if (reading.fec) limit(*reading.fec);
  }
  return links;
}

// An agent behind ssh, whose session stays open between calls.
class AgentSource final : public NodeSource {
 public:
  AgentSource(const Node& node, std::shared_ptr<fleet::FleetContext> context)
      : target_(fleet::target_of(node)), context_(std::move(context)) {
    AgentSource::renew();
    CollectOptions options;
    options.paths = {};
    if (node.expect.checkpoint_path) options.paths.push_back(*node.expect.checkpoint_path);
    options_ = json::dump(json::encode(options));
  }

  Result<Facts> facts(std::stop_token stop) override {
    ASSIGN_OR_RETURN(const auto text, session_->call("facts", options_, kFactsDeadline, stop));
    auto facts = facts_from_json(text);
    if (!facts) return fail(facts.error(), "its facts make no sense");
    return facts;
  }

  Result<NodeCounts> counts(const Facts& known, AlsoRead also, std::stop_token stop) override {
    CountsRequest request = counts_request(known.rdma, metered_driver_counters());
    if (also.gpus && known.gpus.driver_version.ok())
      for (const Gpu& gpu : items(known.gpus.devices)) request.gpus.push_back(gpu.pci_address);
    if (also.links) {
      request.links = rdma_interfaces(known.rdma, known.net);
      request.driver.emplace_back(kCorrectedBits);
    }
    ASSIGN_OR_RETURN(const auto text,
                     session_->call("counts", json::dump(json::encode(request)), kCountsDeadline, stop));
    auto answer = json::read<CountsAnswer>(text);
    if (!answer) return fail(answer.error(), "its counts make no sense");
    NodeCounts found{counts_of(*answer)};
    if (also.gpus) found.gpus = std::move(answer->gpus);
    found.jobs = std::move(answer->jobs);
    if (also.links) found.links = within_bounds(std::move(answer->links), request.links);
    return found;
  }

  bool is_due(std::chrono::seconds age) override { return age >= kFactsFresh; }
  void renew() override { session_ = std::make_unique<fleet::Session>(target_, context_); }

 private:
  const fleet::Target target_;
  const std::shared_ptr<fleet::FleetContext> context_;
  std::unique_ptr<fleet::Session> session_;
  std::string options_;
};

// A captured machine. It is read again if its file has changed.
class TreeSource final : public NodeSource {
 public:
  explicit TreeSource(fs::path path, std::vector<std::string> paths) : path_(std::move(path)) {
    options_.paths = std::move(paths);
  }

  Result<Facts> facts(std::stop_token) override {
    RETURN_IF_ERROR(open());
    return collect_facts(*host_, options_);
  }

  Result<NodeCounts> counts(const Facts& known, AlsoRead also, std::stop_token) override {
    RETURN_IF_ERROR(open());
    NodeCounts found{collect_counts(*host_, known.rdma)};
    if (also.links) found.links = read_links(*host_, rdma_interfaces(known.rdma, known.net));
    if (!also.gpus || !known.gpus.driver_version.ok()) return found;
    found.gpus.emplace();
    for (const Gpu& gpu : items(known.gpus.devices))
      found.gpus->emplace(gpu.pci_address, read_nvml(*host_, gpu.pci_address));
    found.jobs = collect_gpu_jobs(*host_, *found.gpus, users_);
    return found;
  }

  bool is_due(std::chrono::seconds) override { return written() != read_; }
  void renew() override { host_.reset(); }

 private:
  fs::file_time_type written() const {
    std::error_code ignored;
    return fs::last_write_time(path_, ignored);
  }

  Result<void> open() {
    const auto written_at = written();
    if (host_ && written_at == read_) return {};
    ASSIGN_OR_RETURN(auto host, open_root(path_.string()));
    host_ = std::move(host);
    read_ = written_at;
    return {};
  }

  fs::path path_;
  CollectOptions options_;
  std::unique_ptr<Host> host_;
  KnownUsers users_;
  fs::file_time_type read_ = {};
};

}  // namespace

std::vector<std::unique_ptr<NodeSource>> open_sources(const Cluster& cluster, const std::string& root,
                                                      ReachOptions reach) {
  std::vector<std::unique_ptr<NodeSource>> sources;
  if (!root.empty()) {
    for (const Node& node : cluster.nodes) {
      fs::path path = fs::path(root) / (node.name + ".tree");
      std::error_code ignored;
      if (!fs::exists(path, ignored) && fs::is_directory(fs::path(root) / node.name, ignored))
        path = fs::path(root) / node.name;
      sources.push_back(std::make_unique<TreeSource>(std::move(path), asked_paths(cluster)));
    }
    return sources;
  }
  const auto context = context_of(cluster, std::move(reach));
  for (const Node& node : cluster.nodes) sources.push_back(std::make_unique<AgentSource>(node, context));
  return sources;
}

}  // namespace railbed
