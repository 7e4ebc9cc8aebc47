// railbed burn: hours of full load on the GPUs, processors and drives of many nodes, with every result compared.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "bench/burn/burn_verdict.h"
#include "campaign/measure/burn_words.h"
#include "campaign/measure/run_burn.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/burn_listener.h"
#include "cli/measure/burn_options.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/text/burn_text.h"

namespace railbed {
namespace {

struct BurnOutput {
  std::map<std::string, std::string> units = {
      {"work", "FLOP of products, else B"},
      {"rate, write_rate, median, low, high, data_sheet", "FLOP/s of products, else B/s"},
      {"watts", "W"},
      {"clock", "MHz"},
      {"temperature", "°C"},
      {"times", "s"}};
  BurnReport burn;
  FIELDS(BurnOutput, units, burn);
};
constexpr Document<BurnOutput> kBurnDocument{"railbed-burn"};

// Returns "bf16:25,memory:15".
std::string text_of(const std::vector<BurnShare>& phases) {
  std::string text;
  for (const BurnShare& one : phases)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", burn_phase_word(one.phase), one.share);
  return text;
}

int print_burn(const BurnOptions& options, Result<BenchRun> run) {
  clear_progress();
  if (!run) return report(run.error());
  const BurnReport& burn = run->burns.front();
  if (options.json)
    print_document(kBurnDocument, BurnOutput{.burn = burn});
  else
    fmt::print("{}", burn_text(burn, options.all));
  const int code = burn_exit_code(burn);
  // A drill would spoil comparisons with later burns.
  if (burn.injected.empty()) keep(options.keep, *run);
  return code;
}

int resume_burn_command(const BurnOptions& options, const CLI::App& app) {
  for (const char* option :
       {"--hours",      "--minutes",     "--gpus",        "--phases",      "--watts",        "--memory",
        "--host",       "--only-host",   "--host-memory", "--drives",      "--only-drives",  "--rails",
        "--only-rails", "--collectives", "--nccl",        "--drive-paths", "--drive-writes", "--side",
        "--cublas",     "--patience",    "--inject",      "--unseen",      "WHERE"})
    if (app.count(option) > 0)
      return report({ErrorKind::kBadInput,
                     fmt::format("{} with --resume: the burn-in goes on as it began; leave it out", option)});
  const auto kept = find_kept_burn(options.resume);
  if (!kept) return report(kept.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  return print_burn(options, resume_burn(*kept, options.stop, options.reach, terminal_caller(),
                                         burn_listener(kept->plan, "burn-in")));
}

int run_burn_command(BurnOptions& options, const CLI::App& app) {
  if (app.count("--resume") > 0) return resume_burn_command(options, app);
  if (auto filled = fill_burn_plan(options, app); !filled) return report(filled.error());
  const auto places = find_load_places(options.where, options.gpus);
  if (!places) return report(places.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  const BurnPlan& plan = options.plan;
  return print_burn(options, run_burn(*places, plan, request_of(app, options.keep), options.reach,
                                      terminal_caller(), burn_listener(plan, "burn-in")));
}

}  // namespace

Action declare_burn(CLI::App& app) {
  auto options = std::make_shared<BurnOptions>();
  app.add_option(
      "WHERE", options->where,
      "cluster.yaml, and nodes of it if not all; or nodes: gpu[01-04]; gpu07:0,1 for some of a node's GPUs "
      "(default: this machine)");
  auto* hours =
      app.add_option("--hours", options->hours, "how long: 12, or 0.5")->check(between(0.01, 336.0));
  app.add_option("--minutes", options->minutes, "how long, in minutes")
      ->check(between(0.02, 20160.0))
      ->excludes(hours);
  app.add_option("--gpus", options->gpus, "these GPUs of each node only, in PCI order from 0: 0,1")
      ->delimiter(',');
  app.add_option("--phases", options->phases,
                 "what to do in turn, each with its share of the time (default: " +
                     text_of(default_burn_phases()) + ")")
      ->delimiter(',');
  app.add_option("--watts", options->plan.watts,
                 "pause each GPU so that it takes less than this on average; sets no power limit")
      ->check(between(1.0, 100000.0));
  app.add_option("--memory", options->memory,
                 "of each GPU to test at most: 8G (default: most of what is free)");
  auto* host = app.add_flag("--host", options->host,
                            "load the processors and the host's memory, too, at the lowest priority");
  auto* only_host =
      app.add_flag("--only-host", options->only_host, "load them alone, as on file servers: no GPU")
          ->excludes(host);
  app.add_option("--host-memory", options->host_memory,
                 "of each host to test at most: 64G (default: half of what is available)");
  auto* drives =
      app.add_flag("--drives", options->drives,
                   "read and compare a file on each local drive, too: none is touched outside of that file");
  auto* only_drives =
      app.add_flag("--only-drives", options->only_drives, "load drives alone: no GPU, no processor")
          ->excludes(host)
          ->excludes(only_host)
          ->excludes(drives);
  app.add_flag(
      "--collectives", options->collectives,
      "NCCL's all_reduce over all GPUs of all nodes in turns of their own, with compared results (as the "
      "phase collectives:15)");
  auto* rails =
      app.add_flag("--rails", options->rails,
                   "load the rails of cluster.yaml, too, in both directions, and compare what arrives");
  app.add_flag("--only-rails", options->only_rails, "load rails alone: nothing on the nodes themselves")
      ->excludes(host)
      ->excludes(only_host)
      ->excludes(drives)
      ->excludes(only_drives)
      ->excludes(rails);
  app.add_option(
         "--drive-paths", options->drive_paths,
         "put the files into these folders of each node: /scratch,/data (default: one on each local drive)")
      ->delimiter(',');
  app.add_option(
      "--drive-writes", options->drive_writes,
      "written to each drive at most in the whole burn: 16G (default: 1 % of the file system, 64 GiB at most)");
  app.add_option("--side", options->plan.side,
                 "of the matrices: a multiple of 64 (default: 8192, less where memory is short)");
  app.add_option("--cublas", options->plan.cublas,
                 "cuBLASLt's file (default: libcublasLt.so of the driver's CUDA)");
  app.add_option("--nccl", options->plan.nccl,
                 "NCCL's file on the nodes, for collectives (default: the usual places)");
  app.add_option("--patience", options->plan.patience, "seconds that one step may take (default 60)")
      ->check(between(1.0, 3600.0));
  app.add_option(
      "--inject", options->inject,
      "a drill on the first node, marked in all output: wrong-result:GPU@SECONDS flips one bit of a result, "
      "slow:GPU:PERCENT pauses a GPU so much of the time; wrong-cpu:CPU@SECONDS, wrong-host-memory:CPU@SECONDS, "
      "wrong-drive:DRIVE@SECONDS, wrong-collective:GPU@SECONDS");
  app.add_option(
         "--unseen", options->unseen,
         "minutes for which a node works on while this command does not reach it, or has ended (default 60); "
         "0: it stops at once")
      ->check(between(0.0, 20160.0));
  auto* resume =
      app.add_option("--resume", options->resume,
                     "take up a burn-in that goes on without its command, by its ID if there are several")
          ->type_name("[ID]")
          ->expected(0, 1);
  app.add_flag("--stop", options->stop, "with --resume: end it now, and print the verdict")->needs(resume);
  app.add_flag("--all", options->all, "list every GPU and every finding");
  add_json_flag(app, options->json, "machine-readable (docs/reference/burn.md)", kBurnDocument);
  add_history_options(app, options->keep);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed burn --minutes 10                      this machine's GPUs\n"
      "railbed burn cluster.yaml --hours 12           all GPUs of all nodes at once, before production\n"
      "railbed burn cluster.yaml gpu07 --hours 1 --watts 500 --phases bf16,memory\n"
      "railbed burn --minutes 2 --inject wrong-result:0@30   a drill: is it found?\n"
      "railbed burn cluster.yaml --hours 12 --host    with all processors and half of their memory\n"
      "railbed burn cluster.yaml store01 --hours 1 --only-host --drives\n"
      "railbed burn --minutes 30 --only-drives --drive-paths /scratch --drive-writes 8G\n"
      "railbed burn cluster.yaml --hours 12 --host --rails --collectives   all of it\n"
      "railbed burn cluster.yaml --hours 1 --only-rails   before drivers and GPUs are there\n"
      "railbed burn --resume                          after the terminal or this machine was lost\n\n"
      "Takes all that the GPUs can draw, for as long as you say. Products of matrices in each precision, most of\n"
      "the memory, copies to the host and copies between GPUs take turns; every result is compared bit for bit on\n"
      "the GPU. NVML is sampled once a second. --host adds products and integers on every CPU, whose right results\n"
      "are known, and patterns in the host's memory. --drives writes a file of known numbers on each local drive, at\n"
      "most a tenth of the free space, and reads and compares it again and again; it is gone at the end, however that\n"
      "comes. --rails pairs the nodes of each rail anew every 15 s, and sends both ways at once. --collectives sums over all GPUs\n"
      "by NCCL, and compares the sums. The verdict names wrong results, GPUs slower than their siblings and why, heat,\n"
      "power brakes, ECC errors, Xids, and what was lost. Nothing is set on a GPU. A busy GPU is left alone.\n"
      "Each node holds its work itself: one that cannot be reached works on and is asked again, and so does each if this\n"
      "command is lost, for --unseen at most. Ctrl-C ends the load on all nodes.\n"
      "Exit code 1: warnings; 2: wrong results, a GPU or a node lost, errors; 3: something could not be tested,\n"
      "or stopped before the end.");
  return [options, &app] { return run_burn_command(*options, app); };
}

}  // namespace railbed
