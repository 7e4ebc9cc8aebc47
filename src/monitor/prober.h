// One round of probes from this node: its partners of the round on each rail, rails at once, partners in
// turn. A peer that is dead costs its own probe and a few seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "host/host.h"
#include "monitor/probe.h"
#include "monitor/probe_protocol.h"

namespace railbed {

struct ProberOptions {
  ProbePlan plan;
  std::string secret;
  int port = kProbePort;
};

class Prober {
 public:
  Prober(ProberOptions options, std::shared_ptr<Host> host);

  std::vector<PeerProbe> round(std::uint64_t number, const std::stop_token& stop) const;

 private:
  PeerProbe probe(const ProbeRail& rail, const ProbePeer& peer, const std::stop_token& stop) const;

  const ProberOptions options_;
  const std::shared_ptr<Host> host_;
  const Handlers own_rdma_;
};

}  // namespace railbed
