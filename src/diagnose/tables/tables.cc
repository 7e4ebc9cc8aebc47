// All tables in their order. The driver's is first: a GPU that failed is the reason of what NCCL and the network
// report, and NCCL quotes the driver's messages.
#include "diagnose/hypothesis.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose {
namespace {

template <class Row>
std::vector<Row> join_tables(std::initializer_list<std::span<const Row>> tables) {
  std::vector<Row> rows;
  for (const auto table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

}  // namespace

const std::vector<Symptom>& all_symptoms() {
  static const auto rows = join_tables<Symptom>(
      {driver_symptoms(), kernel_symptoms(), nccl_symptoms(), torch_symptoms(), rdma_symptoms(),
       launcher_symptoms(), operating_symptoms(), cluster_symptoms(), program_symptoms()});
  return rows;
}

const std::vector<Hypothesis>& all_hypotheses() {
  static const auto rows = join_tables<Hypothesis>(
      {driver_hypotheses(), kernel_hypotheses(), nccl_hypotheses(), torch_hypotheses(), rdma_hypotheses(),
       launcher_hypotheses(), operating_hypotheses(), cluster_hypotheses(), program_hypotheses()});
  return rows;
}

}  // namespace railbed::diagnose
