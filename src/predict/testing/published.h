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
  std::string half;  // calibration, claim, sick
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
  FIELDS(PublishedMeasurement, id, source, half, gpu, gpus, nodes, op, nic, algorithm, nccl, note,
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

inline ForecastChoice choice_of(const PublishedMeasurement& one) {
  ForecastChoice choice;
  choice.from_graph = one.graph;
  choice.launched_apart = one.launched_apart;
  if (one.algorithm == "ring") choice.algorithm = NcclAlgorithm::kRing;
  if (one.algorithm == "tree") choice.algorithm = NcclAlgorithm::kTree;
  return choice;
}

inline std::vector<MeasuredTime> times_of(const PublishedMeasurement& one) {
  ShapeWords words;
  words.gpu = one.gpu;
  words.gpus = one.gpus;
  words.nodes = one.nodes;
  words.nic = one.nic;
  words.nic_pcie_generation = one.nic_pcie;
  words.nic_pcie_lanes = one.nic_lanes;
  words.staged = one.staged;
  words.peers = one.peers;
  words.no_nvls = one.no_nvls;
  words.domain_nodes = one.domain_nodes;
  words.nccl = one.nccl;
  const auto shape = shape_from_words(words);
  if (!shape) {
    ADD_FAILURE() << one.id << ": " << shape.error().text;
    return {};
  }
  std::vector<MeasuredTime> times;
  for (const auto& row : one.rows) {
    const auto bytes = static_cast<std::uint64_t>(row.at(0));
    const double by_rate = row.at(1) > 0 ? row.at(0) * bus_factor(one.op, shape->ranks()) / row.at(1) : 0;
    times.push_back(
        {one.source_id(), *shape, one.op, bytes, row.at(2) > 0 ? row.at(2) * 1e3 : by_rate, choice_of(one)});
  }
  return times;
}

}  // namespace railbed
