// Runs for the invented reports: one of each kind that has a picture of its own.
#include <fmt/format.h>

#include <cmath>

#include "report/samples.h"

namespace railbed {
namespace {

Summary around(double median, double spread = 0.01) {
  Summary summary;
  summary.samples = 100;
  summary.median = summary.mean = median;
  summary.low = median * (1 - spread);
  summary.high = median * (1 + spread);
  summary.minimum = median * (1 - 3 * spread);
  summary.maximum = median * (1 + 3 * spread);
  summary.p99 = median * 1.4;
  return summary;
}

Ceiling limited(const std::string& name, double bits, const std::string& source) {
  Ceiling ceiling;
  ceiling.limits = {{name, BitRate{bits}, source}};
  return ceiling;
}

Rung climbed(RungKind kind, double gigabits) {
  Rung rung;
  rung.kind = kind;
  Measurement measurement;
  measurement.engine = kind == RungKind::kTcp ? Engine::kTcp : Engine::kRdma;
  measurement.message_bytes = 1 << 20;
  measurement.summary = around(gigabits * 1e9);
  measurement.ceiling = limited("wire at MTU 4096", 392.1e9, "400 Gb/s of the port less headers");
  rung.measurement = measurement;
  rung.share = rung.of_wire = gigabits / 392.1;
  return rung;
}

Ladder sample_ladder() {
  Ladder ladder;
  ladder.a = "dgx01";
  ladder.b = "dgx02";
  ladder.rail = "rail0";
  ladder.rungs = {climbed(RungKind::kTcp, 180), climbed(RungKind::kRdma, 389),
                  climbed(RungKind::kRdmaGpu, 201)};
  ladder.rungs[2].causes = {"ACS sends what a GPU and its adapter exchange through the processor",
                            "the GPU and the adapter lie below different switches"};
  Rung nccl = climbed(RungKind::kNccl, 198);
  nccl.nccl = NcclWay{"IB", "on", {"mlx5_0"}, {"mlx5_0"}, {}};
  ladder.rungs.push_back(nccl);
  ladder.loser = 2;
  return ladder;
}

CollectiveReport sample_collective(Collective operation, bool wrong) {
  CollectiveReport report;
  report.operation = operation;
  report.iterations = 20;
  report.version = "2.28.3";
  for (int rank = 0; rank < 16; ++rank) {
    CollectiveRank collective_rank;
    collective_rank.rank = rank;
    collective_rank.node = rank < 8 ? "dgx01" : "dgx02";
    collective_rank.gpu.name = "NVIDIA H100 80GB HBM3";
    report.ranks.push_back(collective_rank);
  }
  report.first_result = 4.1e9;
  report.ceiling = limited("8 rails of 400 Gb/s", 392e9 * 8, "8 × 392 Gb/s payload at MTU 4096");
  for (std::uint64_t bytes = 1024; bytes <= (8ULL << 30); bytes *= 2) {
    CollectiveRow row;
    row.bytes = bytes;
    row.elements = bytes / 4;
    const double nanoseconds = 28e3 + static_cast<double>(bytes) * 8 * 1.875 / 2890;
    row.launched = around(nanoseconds);
    row.single = around(nanoseconds * 1.1);
    row.graph = around(nanoseconds * 0.95);
    row.algbw = static_cast<double>(bytes) * 8e9 / nanoseconds;
    row.busbw = row.algbw * 1.875;
    row.checked = true;
    if (wrong && bytes == (256ULL << 20)) row.wrong = 4096;
    report.rows.push_back(row);
  }
  return report;
}

std::vector<Measurement> sample_copies() {
  std::vector<Measurement> copies;
  const auto add = [&](const std::string& operation, const std::string& from, const std::string& to,
                       double rate, const Ceiling& ceiling) {
    Measurement measurement;
    measurement.engine = Engine::kGpuCopy;
    measurement.operation = operation;
    measurement.from.node = measurement.to.node = "dgx01";
    measurement.from.interface = from;
    measurement.to.interface = to;
    measurement.message_bytes = 512 << 20;
    measurement.summary = around(rate * 8e9, 0.002);
    measurement.ceiling = ceiling;
    copies.push_back(measurement);
  };
  const Ceiling pcie = limited("PCIe Gen5 x16", 63e9 * 8, "32 GT/s × 16 lanes × 128/130");
  const Ceiling nvlink = limited("18 links of NVLink 4", 450e9 * 8, "18 × 25 GB/s each way");
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = fmt::format("GPU{}", gpu);
    add("host → " + name, "host", name, gpu == 5 ? 26.1 : 55.3, pcie);
    add(name + " → host", name, "host", gpu == 5 ? 26.4 : 54.8, pcie);
  }
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      const std::string from = fmt::format("GPU{}", a);
      const std::string to = fmt::format("GPU{}", b);
      if (a != b) add(from + " → " + to, from, to, a == 3 || b == 3 ? 196 : 393 + (a * 3 + b) % 5, nvlink);
      if (a < b) add(from + " ↔ " + to, from, to, 2 * (a == 3 || b == 3 ? 190.0 : 381.0), {});
    }
  return copies;
}

// Every pair is measured; `slow` sends and receives at a quarter.
RailReport sample_pairs(int nodes, int slow) {
  RailReport rail;
  rail.rail = "rail0";
  rail.engine = Engine::kRdma;
  for (int i = 0; i < nodes; ++i) rail.nodes.push_back(fmt::format("gpu{:03}", i + 1));
  rail.report.nodes = nodes;
  rail.report.rounds = 10;
  rail.report.together = 388e9;
  for (int step = 1; step < nodes; step *= 2)
    for (int a = 0; a < nodes; ++a) {
      const int b = (a + step) % nodes;
      const bool bad = a == slow || b == slow;
      rail.report.pairs.push_back({a, b, (bad ? 97e9 : 386e9 + 1e9 * ((a + b) % 5)), {}});
      rail.report.pairs.push_back({b, a, (bad ? 95e9 : 385e9 + 1e9 * ((a + b) % 5)), {}});
    }
  rail.report.pairs[3].together = std::nullopt;
  rail.failures = {"gpu002 → gpu003: no answer over RDMA"};
  rail.report.slow = {{SlowKind::kNode, slow, -1, 0.25, true}};
  return rail;
}

StoragePlace sample_storage() {
  StoragePlace place;
  place.node = "dgx01";
  place.answer.folder = "/scratch";
  place.answer.mount = Mount{};
  place.answer.mount->type = "xfs";
  place.answer.mount->devices = {"nvme0n1", "nvme1n1"};
  const auto add = [&](const std::string& operation, std::uint64_t bytes, int depth, double gigabytes) {
    Measurement measurement;
    measurement.engine = Engine::kStorage;
    measurement.operation = operation;
    measurement.from.node = "dgx01";
    measurement.message_bytes = bytes;
    measurement.streams = depth;
    measurement.summary = around(gigabytes * 8e9);
    measurement.ceiling =
        limited("2 × PCIe Gen4 x4", 15.75e9 * 8, "16 GT/s × 4 lanes × 128/130 of nvme0 and nvme1");
    place.measurements.push_back(measurement);
    measurement.metric = Metric::kLatency;
    measurement.summary = around(84e3);
    place.measurements.push_back(measurement);
  };
  add("sequential read", 1 << 20, 16, 13.6);
  add("sequential write", 1 << 20, 16, 8.1);
  add("random read", 4096, 1, 0.047);
  add("random read", 4096, 64, 5.9);
  add("checkpoint", 1 << 20, 4, 6.7);
  return place;
}

TrainReport sample_train() {
  TrainReport report;
  report.model = "GPT-2 XL";
  report.sample = "sequence";
  report.nodes = {"dgx01", "dgx01", "dgx02", "dgx02"};
  report.transport = "NCCL";
  report.on_gpus = true;
  report.compute_kind = "cuBLAS bf16 on NVIDIA H100 80GB HBM3";
  report.rounds = 20;
  report.step = around(0.412);
  report.compute = around(0.331);
  report.exchange = around(0.202);
  report.exposed = 0.081;
  report.overlap = 0.6;
  report.efficiency = 0.803;
  report.exchange_rate = BitRate{188e9};
  report.hiding_rate = BitRate{301e9};
  report.ceiling = limited("rail0 and its like", 392e9, "400 Gb/s of the port less headers");
  report.checked_bytes = 62ULL << 30;
  return report;
}

BenchRun named_run(int id, const std::string& label, const std::string& command) {
  BenchRun run;
  run.id = id;
  run.label = label;
  run.command = command;
  run.railbed = "0.1.0";
  run.started_at = "2026-05-04T10:00:00Z";
  run.asked = {{"repeat", "1"}, {"traffic-class", "104"}};
  return run;
}

}  // namespace

Report measured_pair() {
  Report report = dense_pair();
  BenchRun ladder = named_run(11, "after the move", "bench ladder cluster.yaml");
  ladder.ladders = {sample_ladder()};
  BenchRun gpus = named_run(12, "", "bench gpu dgx01");
  gpus.measurements = sample_copies();
  BenchRun collectives = named_run(13, "", "bench collectives cluster.yaml");
  collectives.collectives = {sample_collective(Collective::kAllReduce, false),
                             sample_collective(Collective::kAllGather, true)};
  report.runs = {ladder, gpus, collectives};
  return report;
}

Report runs_only() {
  Report report;
  report.railbed = "0.1.0";
  BenchRun pairs = named_run(21, "pod", "bench pairs cluster.yaml");
  pairs.pairs = {sample_pairs(8, 2), sample_pairs(300, 77)};
  BenchRun storage = named_run(22, "", "bench storage dgx01:/scratch");
  storage.storage = {sample_storage()};
  BenchRun train = named_run(0, "", "bench train cluster.yaml");
  train.trains = {sample_train()};
  BenchRun old = named_run(3, "of an older railbed", "bench storage");
  old.asked.clear();
  old.measurements = sample_storage().measurements;
  report.runs = {pairs, storage, train, old};
  return report;
}

std::vector<BenchRun> hostile_runs(const std::string& attack) {
  BenchRun run = named_run(1, attack, attack);
  run.started_at = attack;
  run.asked = {{attack, attack}};
  run.ladders = {sample_ladder()};
  run.ladders[0].a = run.ladders[0].rail = attack;
  run.ladders[0].rungs[2].causes = {attack};
  run.ladders[0].rungs[3].nccl->through_a = {attack};
  run.ladders[0].rungs[0].measurement->summary.median = std::nan("");
  run.measurements = sample_copies();
  run.measurements[0].operation = run.measurements[20].from.interface = attack;
  run.measurements[1].summary.median = std::numeric_limits<double>::infinity();
  run.measurements[2].failure = Failure{attack, attack, attack};
  run.collectives = {sample_collective(Collective::kAllReduce, true)};
  run.collectives[0].ranks[0].gpu.name = run.collectives[0].version = attack;
  run.collectives[0].rows[0].bytes = 0;
  run.collectives[0].rows[1].busbw = std::nan("");
  run.collectives[0].ceiling.limits[0].name = attack;
  run.pairs = {sample_pairs(8, 2), sample_pairs(40, 2)};
  for (RailReport& rail : run.pairs) rail.nodes[2] = rail.rail = rail.failures[0] = attack;
  run.storage = {sample_storage()};
  run.storage[0].answer.folder = run.storage[0].measurements[0].operation = attack;
  run.storage[0].answer.not_direct = run.storage[0].answer.mount->devices[0] = attack;
  run.trains = {sample_train()};
  run.trains[0].model = run.trains[0].transport = run.trains[0].compute_kind = attack;
  run.trains[0].step.median = -1;
  run.trains[0].overlap = std::nan("");
  return {run};
}

}  // namespace railbed
