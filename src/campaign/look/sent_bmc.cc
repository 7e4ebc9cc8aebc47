#include "campaign/look/sent_bmc.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "bmc/ipmitool_text.h"
#include "host/host.h"
#include "os/process.h"

namespace railbed {
namespace {

struct SentOutput {
  std::string_view command;
  std::string_view IpmitoolTexts::*text;
};

// The commands under which a report keeps outputs (host/support/texts.h, ipmitool_kind).
constexpr SentOutput kSentOutputs[] = {
    {"ipmitool sensor", &IpmitoolTexts::sensor},       {"ipmitool sdr", &IpmitoolTexts::sdr},
    {"ipmitool sel list", &IpmitoolTexts::events},     {"ipmitool sel info", &IpmitoolTexts::log},
    {"ipmitool fru print", &IpmitoolTexts::inventory}, {"ipmitool lan print", &IpmitoolTexts::lan},
    {"ipmitool mc info", &IpmitoolTexts::controller}};

}  // namespace

std::optional<BmcFacts> sent_bmc(Host& host, const std::string& node) {
  std::array<Reading<CommandOutput>, std::size(kSentOutputs)> outputs;
  IpmitoolTexts texts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<std::string> command;
    for (const auto word : words(kSentOutputs[i].command)) command.emplace_back(word);
    outputs[i] = host.run(command);
    if (outputs[i]) texts.*kSentOutputs[i].text = outputs[i]->output;
  }
  auto facts = parse_ipmitool(texts);
  if (facts) facts->node = node;
  return facts;
}

}  // namespace railbed
