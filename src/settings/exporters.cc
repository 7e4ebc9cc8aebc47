// Exporters for Prometheus: node_exporter, railbed's own findings through it, dcgm-exporter. All three listen
// on the management address, or on the loopback address if cluster.yaml gives none: by default they would
// listen on every address of the node (0.0.0.0:9100, :9400), including the rails.
#include <fmt/format.h>

#include "base/host_port.h"
#include "settings/files.h"
#include "settings/nvidia_repository.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kTextfileFolder = "/var/lib/prometheus/node-exporter";

// The same text as in docs/how-to/node-exporter.md; a test keeps them equal.
constexpr std::string_view kVerifyService = R"([Service]
Type=oneshot
ExecStartPre=/bin/mkdir -p /var/lib/prometheus/node-exporter
ExecStart=/usr/bin/env railbed verify --prom --output /var/lib/prometheus/node-exporter/railbed.prom
# Findings are data here, not a failed unit.
SuccessExitStatus=1 2 3
)";
constexpr std::string_view kVerifyTimer = R"([Timer]
OnBootSec=2min
OnUnitActiveSec=5min
[Install]
WantedBy=timers.target
)";

// Returns "192.168.1.70:9100" or "[fd00::1]:9100".
std::string listen_on(const Target& target, int port) {
  const auto& management = target.configure().management_address;
  if (!management) return fmt::format("127.0.0.1:{}", port);
  return host_and_port(management->address.to_text(), port);
}

// The exporter exits if its address does not exist yet, and systemd gives up after five exits within ten
// seconds (systemd.unit(5), StartLimitBurst).
DesiredFile wait_for_address(std::string_view unit, std::string_view more) {
  return {.path = fmt::format("/etc/systemd/system/{}.service.d/90-railbed.conf", unit),
          .content = fmt::format("{}[Unit]\n"
                                 "Wants=network-online.target\n"
                                 "After=network-online.target\n"
                                 "[Service]\n"
                                 "{}Restart=on-failure\n"
                                 "RestartSec=5s\n",
                                 kFileMark, more)};
}

void note_loopback(const Target& target, Setting& setting) {
  if (!target.configure().management_address)
    setting.notes.push_back(
        "It listens on this machine alone: cluster.yaml gives no "
        "configure.management_address that Prometheus could ask.");
}

void add_node_exporter(const Target& target, std::vector<Setting>& settings) {
  const std::string listen = listen_on(target, 9100);
  Setting setting{.section = Section::kExporters,
                  .name = "exporters/node",
                  .title = "node_exporter on " + listen,
                  .reason =
                      "Prometheus sees the node's load, links and disks, and railbed's findings; by itself "
                      "node_exporter would listen on every address, the rails included",
                  .risk = Risk::kService,
                  .needs = {{.what = "node_exporter listens on " + listen}}};
  if (target.platform.family == OsFamily::kDebian) {
    const std::string unit = "prometheus-node-exporter";
    setting.files = {{.path = "/etc/default/prometheus-node-exporter",
                      .content = fmt::format("{}ARGS=\"--web.listen-address={} "
                                             "--collector.textfile.directory={}\"\n",
                                             kFileMark, listen, kTextfileFolder)},
                     wait_for_address(unit, "")};
    setting.steps = {{StepKind::kRefreshPackages, {}},
                     {StepKind::kInstallPackages, {unit}},
                     {StepKind::kReloadUnits, {}},
                     {StepKind::kEnableUnit, {unit + ".service"}},
                     {StepKind::kRestartUnit, {unit + ".service"}}};
  } else {
    // EPEL has provided it as golang-github-prometheus-node-exporter, with units of two names, and not for
    // every release.
    setting.notes.push_back(fmt::format(
        "RHEL's own repositories have no node_exporter. `dnf provides '*/node_exporter'` tells what EPEL has; "
        "start it with --web.listen-address={} --collector.textfile.directory={}.",
        listen, kTextfileFolder));
  }
  note_loopback(target, setting);
  settings.push_back(std::move(setting));
}

void add_verify_timer(std::vector<Setting>& settings) {
  const std::string folder = "/etc/systemd/system/";
  settings.push_back(
      {.section = Section::kExporters,
       .name = "exporters/verify",
       .title = "railbed verify every five minutes, for node_exporter",
       .reason = "what is wrong with the node becomes a metric that an alert can ask for",
       .needs = {{.what = "railbed-verify.timer runs"}},
       .files = {{.path = folder + "railbed-verify.service",
                  .content = std::string(kFileMark) + std::string(kVerifyService)},
                 {.path = folder + "railbed-verify.timer",
                  .content = std::string(kFileMark) + std::string(kVerifyTimer)}},
       .steps = {{StepKind::kReloadUnits, {}}, {StepKind::kEnableUnit, {"railbed-verify.timer"}}},
       .notes = {
           "railbed has to be on the node: install its package, or copy the program to /usr/local/bin."}});
}

bool has_gpus(const Target& target) {
  return target.looked() ? !target.view.gpus().empty() : target.node().expect.gpus.value_or(0) > 0;
}

// The unit is in packaging/config-files/systemd of NVIDIA/dcgm-exporter; its listener reads
// DCGM_EXPORTER_LISTEN (docs.nvidia.com, "dcgm-exporter", CONFIGURATION SOURCES).
void add_dcgm_exporter(const Target& target, std::vector<Setting>& settings) {
  if (!has_gpus(target)) return;
  const std::string listen = listen_on(target, 9400);
  const std::string unit = "nvidia-dcgm-exporter";
  Setting setting{
      .section = Section::kExporters,
      .name = "exporters/dcgm",
      .title = "dcgm-exporter on " + listen,
      .reason = "Prometheus sees the GPUs: temperature, power, clocks, memory errors, NVLink",
      .risk = Risk::kService,
      .needs = {{.what = "dcgm-exporter listens on " + listen}},
      .files = {wait_for_address(unit, fmt::format("Environment=DCGM_EXPORTER_LISTEN={}\n", listen))},
      .steps = {{StepKind::kRefreshPackages, {}},
                {StepKind::kInstallPackages, {"datacenter-gpu-manager-exporter"}},
                {StepKind::kReloadUnits, {}},
                {StepKind::kEnableUnit, {unit + ".service"}},
                {StepKind::kRestartUnit, {unit + ".service"}}},
      .notes = {"It works with the DCGM of its own release: update both together."}};
  use_nvidia_repository(target, "datacenter-gpu-manager-exporter", setting);
  note_loopback(target, setting);
  settings.push_back(std::move(setting));
}

}  // namespace

void render_exporters(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().exporters.value_or(false)) return;
  add_node_exporter(target, settings);
  add_verify_timer(settings);
  add_dcgm_exporter(target, settings);
}

}  // namespace railbed
