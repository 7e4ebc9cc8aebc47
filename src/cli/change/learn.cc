#include "cli/change/learn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/moment.h"
#include "campaign/change/amend_cluster.h"
#include "cli/terminal.h"
#include "report/escape.h"

namespace railbed {
namespace {

bool confirmed(const std::string& file) {
  fmt::print("Write it to {}? [y/N] ", file);
  std::fflush(stdout);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace

int run_learn(const std::string& file, const Evidence& evidence, const Verdict& verdict, bool yes) {
  const auto amendment = propose_amendment(file, evidence, verdict, utc_now().substr(0, 10));
  if (!amendment) return report(amendment.error());
  for (const std::string& one : amendment->left_out) fmt::print("left out: {}\n", printable(one));
  if (amendment->text.empty()) {
    fmt::print("{}: nothing new to learn\n", file);
    return kExitClean;
  }
  fmt::print("{}", amendment->difference);
  const bool asked = !yes && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  if (!yes && !asked) {
    fmt::print("nothing was written: --yes writes it\n");
    return kExitClean;
  }
  if (asked && !confirmed(file)) {
    fmt::print("nothing was written\n");
    return kExitClean;
  }
  if (const auto written = write_amendment(file, *amendment); !written) return report(written.error());
  fmt::print("wrote {}\n", file);
  return kExitClean;
}

}  // namespace railbed
