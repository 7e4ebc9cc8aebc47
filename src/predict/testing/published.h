// Reads tests/predict/published.json.
#pragma once

#include <gtest/gtest.h>

#include "base/fields.h"
#include "predict/calibration_fit.h"
#include "predict/testing/json_file.h"

namespace railbed {

struct PublishedMeasurement {
  std::string id;
  std::string source;
  std::string use;  // fit, sick
  std::string gpu;
  int gpus = 1;
  int nodes = 1;
  Collective op = Collective::kAllReduce;
  std::string nic;
  std::string algorithm;
  std::string nccl;
  std::string note;
  int domain_nodes = 0;
  int nic_pcie = 0;
  int nic_lanes = 0;
  bool no_nvls = false;
  bool peers = false;
  bool staged = false;
  bool graph = false;
  bool launched_apart = false;
  bool no_size = false;
  std::vector<std::vector<double>> rows;  // bytes, busbw in GB/s, time in µs
  FIELDS(PublishedMeasurement, id, source, use, gpu, gpus, nodes, op, nic, algorithm, nccl, note,
         domain_nodes, nic_pcie, nic_lanes, no_nvls, peers, staged, graph, launched_apart, no_size, rows);
  // The source, whatever part of it.
  std::string source_id() const { return id.substr(0, id.find(' ')); }
};

struct PublishedFile {
  std::vector<PublishedMeasurement> measurements;
  FIELDS(PublishedFile, measurements);
};

inline std::vector<PublishedMeasurement> read_published() {
  return read_json_file<PublishedFile>("predict/published.json").measurements;
}

inline ForecastChoice choice_of(const PublishedMeasurement& measurement) {
  ForecastChoice choice;
  choice.from_graph = measurement.graph;
  choice.launched_apart = measurement.launched_apart;
  if (measurement.algorithm == "ring") choice.algorithm = NcclAlgorithm::kRing;
  if (measurement.algorithm == "tree") choice.algorithm = NcclAlgorithm::kTree;
  return choice;
}

inline std::vector<MeasuredTime> times_of(const PublishedMeasurement& measurement) {
  ShapeWords words;
  words.gpu = measurement.gpu;
  words.gpus = measurement.gpus;
  words.nodes = measurement.nodes;
  words.nic = measurement.nic;
  words.nic_pcie_generation = measurement.nic_pcie;
  words.nic_pcie_lanes = measurement.nic_lanes;
  words.staged = measurement.staged;
  words.peers = measurement.peers;
  words.no_nvls = measurement.no_nvls;
  words.domain_nodes = measurement.domain_nodes;
  words.nccl = measurement.nccl;
  const auto shape = shape_from_words(words);
  if (!shape) {
    ADD_FAILURE() << measurement.id << ": " << shape.error().text;
    return {};
  }
  std::vector<MeasuredTime> times;
  for (const auto& row : measurement.rows) {
    const auto bytes = static_cast<std::uint64_t>(row.at(0));
    const double by_rate =
        row.at(1) > 0 ? row.at(0) * bus_factor(measurement.op, shape->ranks()) / row.at(1) : 0;
    times.push_back({measurement.source_id(), *shape, measurement.op, bytes,
                     row.at(2) > 0 ? row.at(2) * 1e3 : by_rate, choice_of(measurement)});
  }
  return times;
}

}  // namespace railbed
