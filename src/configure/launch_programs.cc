// Programs that are started on each node: the words of a node's command.
//
// Sources: PyTorch, torchrun (docs.pytorch.org/docs/stable/elastic/run.html); vLLM, "Parallelism and scaling";
// Accelerate, src/accelerate/commands/launch.py and utils/launch.py; DeepSpeed, deepspeed/launcher/runner.py and
// launch.py; SGLang, "Multi-Node Deployment" (docs.sglang.io) and srt/utils/network.py; Ray, `ray symmetric-run`
// (docs.ray.io, "Deploying on Slurm") and python/ray/scripts/symmetric_run.py.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/base64.h"
#include "configure/launch_job.h"

namespace railbed {
namespace {

bool mentions(const Words& arguments, std::initializer_list<std::string_view> options) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(options, [&](std::string_view option) {
      return argument == option || argument.starts_with(fmt::format("{}=", option));
    });
  });
}

// Uses the static rendezvous: with c10d's, a host has to recognize itself by its name's address, which many
// hosts do not.
Words torchrun_words(const LaunchJob& job, std::size_t i) {
  Words words = {"torchrun"};
  if (job.alone())
    append(words, {"--standalone", fmt::format("--nproc-per-node={}", job.nodes[i].gpus)});
  else
    append(words, {fmt::format("--nnodes={}", job.nodes.size()),
                   fmt::format("--nproc-per-node={}", job.nodes[i].gpus), fmt::format("--node-rank={}", i),
                   "--master-addr=" + job.master(), fmt::format("--master-port={}", job.request.port)});
  append(words, job.request.arguments);
  return words;
}

// Returns the arguments for the launcher itself: those before the script.
Words before_script(const Words& arguments) {
  const auto end = std::ranges::find_if(arguments, [](const std::string& argument) {
    return argument.ends_with(".py") || argument == "-m" || argument == "--module";
  });
  return {arguments.begin(), end};
}

// Accelerate divides the processes by the machines. --multi_gpu refuses one process, and goes neither with another
// way to train nor with a configuration file, which names one. --same_network makes the rendezvous torchrun's static
// one. Accelerate would start DeepSpeed by pdsh, from each node on all of them.
Words accelerate_words(const LaunchJob& job, std::size_t i) {
  const Words own = before_script(job.request.arguments);
  Words words = {"accelerate", "launch"};
  if (job.all_gpus() > 1 &&
      !mentions(own,
                {"--multi_gpu", "--multi-gpu", "--use_deepspeed", "--use-deepspeed", "--use_fsdp",
                 "--use-fsdp", "--use_megatron_lm", "--use-megatron-lm", "--config_file", "--config-file"}))
    words.emplace_back("--multi_gpu");
  append(words, {fmt::format("--num_machines={}", job.nodes.size()),
                 fmt::format("--num_processes={}", job.all_gpus())});
  if (!job.alone()) {
    append(words, {fmt::format("--machine_rank={}", i), "--main_process_ip=" + job.master(),
                   fmt::format("--main_process_port={}", job.request.port), "--rdzv_backend=static",
                   "--same_network"});
    if (mentions(own, {"--use_deepspeed", "--use-deepspeed"}) &&
        !mentions(own, {"--deepspeed_multinode_launcher", "--deepspeed-multinode-launcher"}))
      words.emplace_back("--deepspeed_multinode_launcher=standard");
  }
  append(words, job.request.arguments);
  return words;
}

// Returns the GPUs of each node as DeepSpeed encodes them: JSON in the Base64 for URLs (RFC 4648, section 5).
std::string world_info(const LaunchJob& job) {
  Words entries;
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    Words gpus;
    for (int gpu = 0; gpu < job.nodes[i].gpus; ++gpu) gpus.push_back(std::to_string(gpu));
    entries.push_back(fmt::format("\"{}\": [{}]", job.node(i), fmt::join(gpus, ", ")));
  }
  std::string encoded = base64_encoded(fmt::format("{{{}}}", fmt::join(entries, ", ")));
  std::ranges::replace(encoded, '+', '-');
  std::ranges::replace(encoded, '/', '_');
  return encoded;
}

// Starts what `deepspeed` starts on a node in the end. `deepspeed` itself would want a hostfile on each node even with
// --no_ssh, and without that option it would start the others by pdsh.
Words deepspeed_words(const LaunchJob& job, std::size_t i) {
  Words words = {"python3", "-m", "deepspeed.launcher.launch", "--world_info=" + world_info(job)};
  if (!job.alone()) append(words, {fmt::format("--node_rank={}", i), "--master_addr=" + job.master()});
  words.push_back(fmt::format("--master_port={}", job.request.port));
  append(words, job.request.arguments);
  return words;
}

// Uses tensor parallelism within a node and pipeline parallelism between nodes, as vLLM's documentation
// recommends. Nodes with one GPU each use tensor parallelism, because a pipeline makes a single request no
// faster.
void add_parallel(const LaunchJob& job, Words& words) {
  if (mentions(words, {"--tensor-parallel-size", "-tp", "--pipeline-parallel-size", "-pp",
                       "--data-parallel-size", "-dp"}))
    return;
  const int gpus = job.nodes.front().gpus;
  const int nodes = static_cast<int>(job.nodes.size());
  words.push_back(fmt::format("--tensor-parallel-size={}", gpus == 1 ? nodes : gpus));
  if (gpus > 1 && nodes > 1) words.push_back(fmt::format("--pipeline-parallel-size={}", nodes));
}

// Uses vLLM's own processes on several nodes, without Ray. Releases that do not support --nnodes report it.
Words vllm_words(const LaunchJob& job, std::size_t i) {
  Words words = {"vllm", "serve"};
  append(words, job.request.arguments);
  add_parallel(job, words);
  if (job.alone()) return words;
  append(words, {"--distributed-executor-backend=mp", fmt::format("--nnodes={}", job.nodes.size()),
                 fmt::format("--node-rank={}", i), "--master-addr=" + job.master(),
                 fmt::format("--master-port={}", job.request.port)});
  if (i > 0) words.push_back("--headless");
  return words;
}

// SGLang's --tp counts the GPUs of all nodes; its documentation runs one model over two nodes so. An IPv6 address needs
// brackets.
Words sglang_words(const LaunchJob& job, std::size_t i) {
  Words words = {"python3", "-m", "sglang.launch_server"};
  append(words, job.request.arguments);
  if (!mentions(words, {"--tensor-parallel-size", "--tp-size", "--tp", "--pipeline-parallel-size",
                        "--pp-size", "--pp", "--data-parallel-size", "--dp-size", "--dp"}))
    words.push_back(fmt::format("--tp-size={}", job.all_gpus()));
  if (!job.alone())
    append(words, {"--dist-init-addr=" + job.endpoint(), fmt::format("--nnodes={}", job.nodes.size()),
                   fmt::format("--node-rank={}", i)});
  return words;
}

// The node that has the address becomes the head, waits for the others and alone starts the program; the others end
// with it. Since Ray 2.49.
Words ray_words(const LaunchJob& job, std::size_t i) {
  Words words = {
      "ray",
      "symmetric-run",
      "--address=" + (job.alone() ? fmt::format("127.0.0.1:{}", job.request.port) : job.endpoint()),
      fmt::format("--min-nodes={}", job.nodes.size()),
      fmt::format("--num-gpus={}", job.nodes[i].gpus),
      "--"};
  append(words, job.request.arguments);
  return words;
}

}  // namespace

bool starts_on_each_node(Launcher launcher) {
  return launcher != Launcher::kMpirun && launcher != Launcher::kSrun && launcher != Launcher::kNcclTests;
}

Words node_words(const LaunchJob& job, std::size_t i) {
  switch (job.request.launcher) {
    case Launcher::kTorchrun:
      return torchrun_words(job, i);
    case Launcher::kAccelerate:
      return accelerate_words(job, i);
    case Launcher::kDeepspeed:
      return deepspeed_words(job, i);
    case Launcher::kVllm:
      return vllm_words(job, i);
    case Launcher::kSglang:
      return sglang_words(job, i);
    case Launcher::kRay:
      return ray_words(job, i);
    case Launcher::kMpirun:
    case Launcher::kSrun:
    case Launcher::kNcclTests:
      break;
  }
  return {};
}

}  // namespace railbed
