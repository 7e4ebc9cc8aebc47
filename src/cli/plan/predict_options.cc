#include "cli/plan/predict_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/units.h"
#include "bench/collective/collective.h"
#include "campaign/look/predicted.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "predict/shape_from_nodes.h"

namespace railbed {
namespace {

template <class Enum>
Result<Enum> parse_word(const std::string& word, const char* option) {
  const auto names = enum_names(Enum{});
  const auto found = std::ranges::find(names, word);
  if (found == names.end())
    return fail(ErrorKind::kBadInput, fmt::format("{} {}: one of {}", option, word, fmt::join(names, ", ")));
  return static_cast<Enum>(found - names.begin());
}

// Parses the slot "4x8", generation and lanes, into the words.
Result<ShapeWords> words_with_slot(const ShapeOptions& options) {
  ShapeWords words = options.words;
  if (options.nic_slot.empty()) return words;
  int generation = 0;
  int lanes = 0;
  char rest = 0;
  if (std::sscanf(options.nic_slot.c_str(), "%2dx%2d%c", &generation, &lanes, &rest) != 2 || generation < 2 ||
      generation > 6 || lanes < 1 || lanes > 16)
    return fail(ErrorKind::kBadInput,
                fmt::format("--nic-slot {}: generation x lanes, as 4x8", options.nic_slot));
  words.nic_pcie_generation = generation;
  words.nic_pcie_lanes = lanes;
  return words;
}

Result<Evidence> evidence_for(const ShapeOptions& options, bool read_alone) {
  if (read_alone) return read_sources(options.sources, say_to_person);
  auto evidence = gather_evidence(options.sources, {}, terminal_caller());
  if (evidence) clear_progress();
  return evidence;
}

}  // namespace

void declare_shape_options(CLI::App& app, ShapeOptions& options) {
  ShapeWords& words = options.words;
  app.add_option("cluster.yaml", options.sources.cluster,
                 "go by its nodes, rails, expectations and parts; no node is asked");
  app.add_option("--root", options.sources.root, "go by captured machines: a .tree file or a folder of them");
  app.add_option("--facts", options.sources.facts, "go by facts that `railbed facts --json` printed");
  app.add_option("--gpu", words.gpu, "A100, H100, H200, B200, GB300, \"V100 PCIe\", \"RTX 4090\", GB10 …");
  app.add_option("--gpus", words.gpus, "GPUs of a node (default 8)")->check(between(1, 1024));
  app.add_option("--nodes", words.nodes, "how many nodes (default 1)")->check(between(1, 1'000'000));
  app.add_option("--nic", words.nic,
                 "adapters of a node: 8x400ib; ib, roce, efa, efa1, slingshot, tcpxo, libfabric or tcp");
  app.add_option("--adapter", words.adapter, "their model or part number: \"ConnectX-3 Pro\", MCX455A-ECAT");
  app.add_option("--nic-slot", options.nic_slot, "their PCIe slots, generation x lanes: 4x8");
  app.add_option("--pcie", words.pcie_generation, "GPUs on PCIe slots of this generation, not on NVLink")
      ->check(between(3, 6));
  app.add_option("--nvlink-nodes", words.domain_nodes, "nodes that one NVLink network joins (NVL72: 18)")
      ->check(between(1, 1024));
  app.add_flag("--staged", words.staged, "adapters do not reach the GPUs' memory");
  app.add_flag("--peers", words.peers, "a driver lets GeForce GPUs reach each other");
  app.add_flag("--no-nvls", words.no_nvls, "NCCL_NVLS_ENABLE=0, or a machine without it");
  app.add_flag("--amd", words.amd, "AMD processors");
  app.add_option("--nccl", words.nccl, "NCCL's version: 2.28.9");
  app.add_option("--calibration", options.calibration, "constants that railbed predict --calibrate wrote");
}

Result<Subject> find_subject(const ShapeOptions& options) {
  ASSIGN_OR_RETURN(const auto words, words_with_slot(options));
  const bool named = !words.gpu.empty();
  const bool somewhere = !options.sources.cluster.empty() || !options.sources.live();
  ASSIGN_OR_RETURN(auto evidence, evidence_for(options, somewhere || named));
  ASSIGN_OR_RETURN(auto shape, somewhere || !named ? shape_from_nodes(evidence.cluster, evidence.nodes, words)
                                                   : shape_from_words(words));
  return Subject{std::move(shape), std::move(evidence)};
}

Result<Calibration> find_calibration(const ShapeOptions& options) {
  return options.calibration.empty() ? shipped_calibration() : read_calibration(options.calibration);
}

Result<std::vector<std::uint64_t>> predicted_sizes(const PredictOptions& options) {
  const std::string& text = options.sizes;
  const auto colon = text.find(':');
  const auto from = parse_byte_count(text.substr(0, colon));
  const auto to = colon == std::string::npos ? from : parse_byte_count(text.substr(colon + 1));
  if (!from || !to || from->bytes == 0 || to->bytes < from->bytes)
    return fail(ErrorKind::kBadInput, fmt::format("--sizes {}: write one size, or two as 8:16G", text));
  return size_sweep(from->bytes, to->bytes, 4);
}

Result<ForecastChoice> predicted_choice(const PredictOptions& options) {
  ForecastChoice choice;
  choice.from_graph = options.graph;
  ASSIGN_OR_RETURN(const auto type, parse_word<DataType>(options.type, "--type"));
  choice.type = type;
  if (options.algorithm.empty()) return choice;
  ASSIGN_OR_RETURN(const auto algorithm, parse_word<NcclAlgorithm>(options.algorithm, "--algorithm"));
  choice.algorithm = algorithm;
  return choice;
}

Result<Collective> predicted_operation(const PredictOptions& options) {
  return parse_word<Collective>(options.operation, "--op");
}

void declare_predict_options(CLI::App& app, PredictOptions& options) {
  declare_shape_options(app, options.cluster);
  app.add_option("--op", options.operation,
                 "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, alltoall, …");
  app.add_option("--type", options.type,
                 "float32 (default), bfloat16, int8 …: switches do not add 8-bit numbers");
  app.add_option("--sizes", options.sizes,
                 "from the smallest to the largest, four times each (default 8:16G)");
  app.add_option("--algorithm", options.algorithm, "as if NCCL_ALGO said so: ring, tree, nvls, nvls_tree");
  app.add_flag("--graph", options.graph, "replayed from a CUDA graph");
  app.add_flag("--algorithms", options.algorithms, "also what NCCL reckons of each algorithm and protocol");
  app.add_flag("--sources", options.said, "where each property of the cluster comes from");
  auto* against = app.add_option(
      "--against", options.against,
      "hold a run against the forecast: a number, a label, last, or a file: JSON of railbed's, or "
      "the output of nccl-tests or perftest");
  auto* calibrate = app.add_option("--calibrate", options.calibrate,
                                   "fit the constants to these runs, and show what is left");
  calibrate->excludes(against);
  app.add_option("-o,--output", options.output, "where --calibrate writes the constants")->needs(calibrate);
  app.add_flag("--tuner-csv", options.csv, "print the file that NCCL's example tuner plugin reads")
      ->excludes(against);
  add_store_option(app, options.store);
}

}  // namespace railbed
