// The limits that RDMA and fast TCP need: locked memory, socket buffers.
#include <fmt/format.h>

#include "base/text.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

std::string limit_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : to_text(ByteCount{bytes});
}

void memlock(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "memlock", Things{"memlock"}, [](Case& verdict, const NodeView& node) {
    if (!node.needs_rdma()) return verdict.not_applicable("nothing here needs RDMA");
    const std::uint64_t* limit = verdict.read(node.facts->system.memory.memlock_soft);
    if (limit == nullptr) return;
    if (*limit == kUnlimited) return verdict.pass("unlimited");
    verdict.warn({.message = fmt::format(
                      "a login on {} may lock only {} of memory: RDMA registers its buffers by locking them, "
                      "and large ones will be refused",
                      *node.name, limit_text(*limit)),
                  .expected = "unlimited",
                  .observed = limit_text(*limit)});
  });
}

void service_memlock(const Survey& survey, Judge& judge) {
  const auto limits_of = [](const NodeView& node) -> const auto& {
    return node.facts->system.memory.service_memlock;
  };
  each_of(survey, judge, limits_of, &ServiceLimit::service,
          [](Case& verdict, const NodeView& node, const ServiceLimit& service) {
            const std::uint64_t* limit = verdict.read(service.max_bytes);
            if (limit == nullptr) return;
            if (*limit == kUnlimited) return verdict.pass("unlimited");
            verdict.warn({.message = fmt::format(
                              "{} on {} may lock only {} of memory, and so may every job it starts: "
                              "limits.conf does not reach services",
                              service.service, *node.name, limit_text(*limit)),
                          .expected = "unlimited",
                          .observed = limit_text(*limit)});
          });
}

void judge_socket_buffer(Case& verdict, const NodeView& node, const std::string& key) {
  if (!node.expect().socket_buffer) return verdict.not_applicable("cluster.yaml asks for no socket buffer");
  const auto found = node.facts->system.sysctl.find(key);
  if (found == node.facts->system.sysctl.end()) return verdict.unknown(key + " was not collected");
  const std::string* text = verdict.read(found->second);
  if (text == nullptr) return;
  const std::uint64_t want = *node.expect().socket_buffer;
  const auto have = parse_number<std::uint64_t>(*text);
  if (have && *have >= want) return verdict.pass(*text);
  verdict.warn(
      {.message = fmt::format("{} is {} on {}, expected at least {}: one TCP stream cannot fill a fast link",
                              key, *text, *node.name, want),
       .expected = fmt::format("at least {}", want),
       .observed = *text});
}

void socket_buffers(const Survey& survey, Judge& judge) {
  static const std::string kKeys[] = {"net.core.rmem_max", "net.core.wmem_max"};
  each_of(
      survey, judge, [](const NodeView&) -> const auto& { return kKeys; }, std::identity(),
      judge_socket_buffer);
}

}  // namespace

std::span<const Rule> limit_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.memlock",
       .title = "memory can be locked without limit",
       .why = "RDMA locks its buffers in memory. Under the usual 8 MiB limit registration fails with ENOMEM.",
       .source = "Max locked memory of /proc/self/limits",
       .standard = "unlimited",
       .remedy = "Raise the limit of all users in limits.d (root is not covered by *).",
       .fixture = "v100-memlock-low",
       .explained_by = {},
       .settings = {"limits/logins"},
       .check = memlock},
      {.id = "rdma.service-memlock",
       .title = "services that start jobs can lock memory",
       .why = "Jobs inherit the limit of slurmd or containerd, not of a login shell.",
       .source = "Max locked memory of /proc/PID/limits",
       .standard = "unlimited for slurmd, containerd and their like",
       .remedy = "Give the unit LimitMEMLOCK=infinity and restart it when no job runs.",
       .fixture = "h100-slurmd-memlock",
       .explained_by = {},
       .settings = {"limits/service"},
       .check = service_memlock},
      {.id = "host.socket-buffers",
       .title = "socket buffers may grow as asked",
       .why = "One TCP stream needs bandwidth × round trip of buffer; the default of 208 KiB chokes it.",
       .source = "/proc/sys/net/core/{rmem,wmem}_max",
       .standard = "expect.socket_buffer of cluster.yaml (the guides: 268435456); not judged without it",
       .remedy = "Raise them now and for the next boot.",
       .fixture = "spark-socket-buffers",
       .explained_by = {},
       .settings = {"sysctl/socket-buffers"},
       .check = socket_buffers},
  };
  return kRules;
}

}  // namespace railbed
