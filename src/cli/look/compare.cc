// railbed compare: judges whether run B is worse than run A.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "campaign/measure/history.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/text/compare_table.h"
#include "store/compare.h"

namespace railbed {
namespace {

constexpr Document<CompareResult> kCompareDocument{"railbed-compare"};

struct CompareFlags {
  std::string a;
  std::string b;
  std::string store;
  double threshold = 3;  // percent
  bool json = false;
};

int run_compare(const CompareFlags& options) {
  const auto a = find_runs(options.store, options.a, terminal_caller());
  if (!a) return report(a.error());
  const auto b = find_runs(options.store, options.b, terminal_caller());
  if (!b) return report(b.error());
  CompareOptions compare_options;
  compare_options.threshold = options.threshold / 100;
  const CompareResult result =
      compare(*a, *b, earlier_runs(options.store, b->front(), terminal_caller()), compare_options);
  if (options.json)
    print_document(kCompareDocument, result);
  else
    fmt::print("{}", compare_table(*a, *b, result, compare_options));
  return exit_code_of(result.outcome);
}

}  // namespace

Action declare_compare(CLI::App& app) {
  auto options = std::make_shared<CompareFlags>();
  app.add_option("A", options->a,
                 "the run to compare with: a number, a label, last, baseline, or a file: an exported run, or "
                 "the output of another tool; several runs of one state with commas: 12,14")
      ->required();
  app.add_option("B", options->b, "the run in question, or several: 13,15")->required();
  app.add_option("--threshold", options->threshold,
                 "percent; a smaller change for the worse does not count (default 3)")
      ->check(between(0.0, 1000.0));
  add_store_option(app, options->store);
  add_json_flag(app, options->json, "machine-readable (docs/reference/history.md)", kCompareDocument);
  app.footer(
      "\nrailbed bench rdma gpu01 gpu02 --repeat 5 --label back-to-back\n"
      "railbed bench rdma gpu01 gpu02 --repeat 5 --label switch\n"
      "railbed compare back-to-back switch\n"
      "railbed compare 12,14 13,15        # two sittings of each state\n\n"
      "Other tools: ib_*_bw and ib_*_lat (perftest), nccl-tests, iperf3, sockperf, fio "
      "(docs/reference/history.md).\n\n"
      "FAIL only where chance is ruled out (1 %) and the change passes the threshold. How much sittings (runs an hour "
      "or\nmore apart) of one system differ is learned from the history. INCONCLUSIVE tells how many more sittings or "
      "repeats\nwould decide. Exit codes: 0 PASS, 2 FAIL, 3 INCONCLUSIVE.");
  return [options] { return run_compare(*options); };
}

}  // namespace railbed
