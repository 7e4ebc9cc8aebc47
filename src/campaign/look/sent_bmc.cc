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
  bool IpmitoolTexts::*in_part = nullptr;  // set if a part of the output alone is kept
};

// The commands under which a report keeps outputs (host/support/texts.h, ipmitool_kind).
constexpr SentOutput kSentOutputs[] = {
    {"ipmitool sensor", &IpmitoolTexts::sensor},
    {"ipmitool sdr", &IpmitoolTexts::sdr},
    {"ipmitool sel list", &IpmitoolTexts::events},
    {"ipmitool sensor (part)", &IpmitoolTexts::sensor, &IpmitoolTexts::sensors_in_part},
    {"ipmitool sdr (part)", &IpmitoolTexts::sdr, &IpmitoolTexts::sensors_in_part},
    {"ipmitool sel list (part)", &IpmitoolTexts::events, &IpmitoolTexts::events_in_part},
    {"ipmitool sel info", &IpmitoolTexts::log},
    {"ipmitool fru print", &IpmitoolTexts::inventory},
    {"ipmitool lan print", &IpmitoolTexts::lan},
    {"ipmitool mc info", &IpmitoolTexts::controller},
    {"ipmitool chassis status", &IpmitoolTexts::chassis}};

}  // namespace

std::optional<BmcFacts> sent_bmc(Host& host, const std::string& node) {
  std::array<Reading<CommandOutput>, std::size(kSentOutputs)> outputs;
  IpmitoolTexts texts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<std::string> command;
    for (const auto word : words(kSentOutputs[i].command)) command.emplace_back(word);
    outputs[i] = host.run(command);
    if (!outputs[i]) continue;
    texts.*kSentOutputs[i].text = outputs[i]->output;
    if (kSentOutputs[i].in_part != nullptr) texts.*kSentOutputs[i].in_part = true;
  }
  auto facts = parse_ipmitool(texts);
  if (facts) facts->node = node;
  return facts;
}

}  // namespace railbed
