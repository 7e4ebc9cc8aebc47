#include "verify/numbers.h"

#include <fmt/format.h>

#include <map>

namespace railbed {

bool has_number(const Measurement& measurement) {
  return !measurement.failure && measurement.summary.samples > 0;
}

bool is_software(const Survey& survey, const Measurement& measurement) {
  const Rail* rail = find_rail(survey.evidence.cluster, measurement.rail);
  return measurement.engine != Engine::kRdma || (rail != nullptr && !rail->rdma_driver.empty()) ||
         measurement.ceiling.nominal;
}

std::string name_of(const Measurement& measurement) {
  if (measurement.engine == Engine::kPing) return "ping";
  if (measurement.engine == Engine::kRdmaCm) return "RDMA-CM";
  std::string name(measurement.engine == Engine::kRdma ? "RDMA" : "TCP");
  return measurement.operation.empty() || measurement.operation == "write"
             ? name
             : name + ' ' + measurement.operation;
}

std::string busy_ends(std::initializer_list<const Measurement*> numbers) {
  std::map<std::string, std::string> texts;
  for (const Measurement* number : numbers)
    for (const Endpoint* end : {&number->from, &number->to})
      if (is_busy(*end)) texts.emplace(end->node, busy_text(*end));
  std::string text;
  for (const auto& [node, one] : texts) text += (text.empty() ? "" : "; ") + one;
  return text;
}

void accuse(Case& each, bool fails, const std::string& busy, Complaint complaint) {
  if (!busy.empty()) each.add_evidence(busy);
  if (!fails && !busy.empty())
    return each.unknown(fmt::format("{}; {}: measure again when it is idle", complaint.message, busy));
  each.red(fails ? Status::kFail : Status::kWarn, std::move(complaint));
}

bool excused_by_traffic(Case& each, const Measurement& number, bool can_be_why, const Complaint& complaint) {
  const std::string traffic = traffic_text(number);
  if (!traffic.empty()) each.add_evidence(traffic);
  if (!can_be_why) return false;
  each.unknown(fmt::format("{}; {}: measure again when the rail is idle", complaint.message, traffic));
  return true;
}

}  // namespace railbed
