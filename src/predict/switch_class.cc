#include "predict/switch_class.h"

namespace railbed {
namespace {

constexpr std::string_view kHopGuide = "the V100 guide, \"Switch Latency Varies by Type\"";

constexpr std::array<HopLatency, 4> kHops{{
    {Nanoseconds{90}, Nanoseconds{130},
     "Mellanox SB7800 (90 ns) and QM8700 (130 ns), their product briefs; general knowledge, to check"},
    {Nanoseconds{300}, Nanoseconds{500}, kHopGuide},
    {Nanoseconds{1000}, Nanoseconds{3000}, kHopGuide},
    {Nanoseconds{3000}, Nanoseconds{10000}, kHopGuide},
}};

}  // namespace

const HopLatency& hop_latency(SwitchClass kind) { return kHops[static_cast<std::size_t>(kind)]; }

}  // namespace railbed
