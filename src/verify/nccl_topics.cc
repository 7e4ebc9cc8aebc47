#include "verify/nccl_topics.h"

namespace railbed {

std::span<const NcclTopic> nccl_topics() {
  static constexpr NcclTopic kTopics[] = {
      {"rdma-off", "", "nccl.rdma-on"},
      {"no-rdma", "", "nccl.net-forced"},
      {"no-such-device", "", "nccl.hca"},
      {"nothing-left", "", "nccl.hca"},
      {"port-down", "", "nccl.hca-port"},
      {"prefix", "NCCL_SOCKET_IFNAME", "nccl.socket-interface-exact"},
      {"prefix", "", "nccl.hca-exact"},
      {"no-interface", "", "nccl.socket-interface"},
      {"no-such-interface", "", "nccl.socket-interface-exact"},
      {"loopback", "", "nccl.socket-interface-reach"},
      {"local-interface", "", "nccl.socket-interface-reach"},
      {"gid-pinned", "", "nccl.gid-index"},
      {"gid-wrong", "", "nccl.gid-entry"},
      {"bad-range", "", "nccl.gid-range"},
      {"no-gid-in-range", "", "nccl.gid-range"},
      {"level-integer", "", "nccl.gdr-level"},
      {"unknown-word", "NCCL_NET_GDR_LEVEL", "nccl.gdr-level"},
      {"unknown-word", "NCCL_P2P_LEVEL", "nccl.gdr-level"},
      {"unknown-word", "", "nccl.value"},
      {"out-of-range", "NCCL_IB_RETRY_CNT", "nccl.retry-count"},
      {"out-of-range", "", "nccl.value"},
      {"not-a-number", "", "nccl.value"},
      {"too-many-sockets", "", "nccl.value"},
      {"unknown", "", "nccl.known-variable"},
      {"not-nccl", "", "nccl.known-variable"},
      {"removed", "", "nccl.removed-variable"},
      {"deprecated", "", "nccl.removed-variable"},
      {"too-new", "", "nccl.variable-version"},
      {"quoted", "", "nccl.file-syntax"},
      {"not-a-shell", "", "nccl.file-syntax"},
      {"set-twice", "", "nccl.set-once"},
      {"contexts-differ", "", "nccl.contexts"},
      {"conf-in-conf", "", "nccl.conf-file"},
      {"conf-tilde", "", "nccl.conf-file"},
      {"conf-missing", "", "nccl.conf-file"},
      {"no-plugin", "", "nccl.net-plugin"},
      {"debug-on", "", "nccl.debug"},
      {"path-off", "", "nccl.paths-on"},
      {"forced-choice", "", "nccl.algorithm-free"},
      {"traffic-class", "", "nccl.traffic-class"},
      {"ecn-bits", "", "nccl.ecn-bits"},
      {"timeout", "", "nccl.timeout"},
      {"crosses-rails", "", "nccl.cross-rails"},
  };
  return kTopics;
}

std::string_view nccl_rule_of(const nccl::Complaint& complaint) {
  for (const NcclTopic& topic : nccl_topics())
    if (topic.complaint == complaint.id && (topic.variable.empty() || topic.variable == complaint.variable))
      return topic.rule;
  return {};
}

}  // namespace railbed
