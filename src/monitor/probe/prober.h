// Makes one round of probes from this node. It probes the round's partners on each rail: the rails at the
// same time, the partners of one rail in turn. A dead peer costs only its own probe, and a few seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "host/host.h"
#include "monitor/probe/probe.h"
#include "monitor/probe/probe_protocol.h"

namespace railbed {

struct ProberOptions {
  ProbePlan plan;
  std::string secret;
  int port = kProbePort;
};

// See the head of this file.
class Prober {
 public:
  Prober(ProberOptions options, std::shared_ptr<Host> host);

  // Makes round `number`. The result holds one entry for each partner on each rail.
  std::vector<PeerProbe> round(std::uint64_t number, const std::stop_token& stop) const;

 private:
  PeerProbe probe(const ProbeRail& rail, const ProbePeer& peer, const std::stop_token& stop) const;

  const ProberOptions options_;
  const std::shared_ptr<Host> host_;
  const Handlers own_rdma_;
};

}  // namespace railbed
