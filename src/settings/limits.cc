// Unlimited locked memory: RDMA registers its buffers by locking them. Logins get their limits from PAM,
// services from systemd; neither reads the other's files.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

// pam_limits reads limits.conf, then this folder in the order of names; the last matching line counts
// (pam_limits(8)). "*" does not apply to root (limits.conf(5)).
constexpr const char* kLoginLimitsPath = "/etc/security/limits.d/90-railbed.conf";
constexpr std::string_view kLoginLimits =
    "* soft memlock unlimited\n"
    "* hard memlock unlimited\n"
    "root soft memlock unlimited\n"
    "root hard memlock unlimited\n";

std::string memlock_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : to_text(ByteCount{bytes});
}

// A process has the limit that the files gave when it started. If it is unlimited, the files make it
// unlimited at boot, too. If it is not, they may have changed since.
Need unlimited(std::string what, const Reading<std::uint64_t>& bytes) {
  Need need{.what = std::move(what)};
  if (!bytes.ok()) return need;
  need.now = *bytes == kUnlimited;
  if (*need.now)
    need.at_boot = true;
  else
    need.found = memlock_text(*bytes);
  return need;
}

void add_login_limits(const Target& target, std::vector<Setting>& settings) {
  const Memory& memory = target.facts().system.memory;
  settings.push_back(
      {.section = Section::kLimits,
       .name = "limits/logins",
       .title = "locked memory without a limit, for logins",
       .reason =
           "RDMA registers its buffers by locking them; the usual limit refuses all but small ones, and "
           "a line for * alone leaves root out",
       .needs = {unlimited("a login may lock any amount of memory", memory.memlock_soft),
                 unlimited("a login may raise it to any amount", memory.memlock_hard)},
       .files = {{.path = kLoginLimitsPath, .content = std::string(kFileMark) + std::string(kLoginLimits)}},
       .notes = {"A session that is open keeps its limit: log in again."}});
}

// A service that starts jobs, and whether the jobs survive its restart.
struct JobStarter {
  std::string_view name;
  bool jobs_survive;
  std::string_view note;
};
// slurmd: KillMode=process in its unit, slurmstepd holds the job. containerd: the same, its shims hold the
// containers. kubelet: pods belong to the runtime. docker stops its containers when it stops, unless
// live-restore is on (docs.docker.com, "Live restore").
constexpr JobStarter kJobStarters[] = {
    {"slurmd", true,
     "Slurm gives a job the limits of the shell that submitted it: set PropagateResourceLimitsExcept=MEMLOCK "
     "in slurm.conf."},
    {"containerd", true, "Containers that run keep their limit until they are started anew."},
    {"docker", false,
     "docker is not restarted, since that stops its containers: it takes the limit when it next starts. A "
     "container's own limit is what `docker run --ulimit memlock=-1` says."},
    {"kubelet", true, "Pods that run keep their limit until they are started anew."},
};

void add_service_limit(const ServiceLimit& limit, const JobStarter& starter, std::vector<Setting>& settings) {
  Setting setting{
      .section = Section::kLimits,
      .name = "limits/service",
      .subjects = {std::string(starter.name)},
      .title = fmt::format("locked memory without a limit, for {}", starter.name),
      .reason =
          "jobs inherit the limit of the service that starts them, and limits.conf does not reach services",
      .risk = starter.jobs_survive ? Risk::kService : Risk::kNone,
      .reboot = !starter.jobs_survive,
      .needs = {unlimited(fmt::format("{} may lock any amount of memory", starter.name), limit.max_bytes)},
      .files = {{.path = fmt::format("/etc/systemd/system/{}.service.d/90-railbed.conf", starter.name),
                 .content = std::string(kFileMark) + "[Service]\nLimitMEMLOCK=infinity\n"}},
      .steps = {{StepKind::kReloadUnits, {}}},
      .notes = {std::string(starter.note)}};
  if (starter.jobs_survive)
    setting.steps.push_back({StepKind::kRestartUnit, {fmt::format("{}.service", starter.name)}});
  settings.push_back(std::move(setting));
}

}  // namespace

void render_limits(const Target& target, std::vector<Setting>& settings) {
  if (std::ranges::none_of(target.view.ends, &RailEnd::wants_rdma)) return;
  add_login_limits(target, settings);
  // Services that run here. Without facts none is known, and a drop-in for a service that does not exist
  // would be pointless.
  for (const JobStarter& starter : kJobStarters)
    for (const ServiceLimit& limit : target.facts().system.memory.service_memlock)
      if (limit.service == starter.name) add_service_limit(limit, starter, settings);
}

}  // namespace railbed
