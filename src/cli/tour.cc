// railbed tour: two artificial machines with three faults, seen by the same commands that read real ones.
// Each step gives its reason, shows its command, and runs it in this process. It contacts no machine and
// needs no root; all its files are in one folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files.h"
#include "base/shell.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/tour_files.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

struct TourOptions {
  std::string folder = "railbed-tour";
};

struct TourStep {
  std::string_view why;
  std::vector<std::string> words;
};

const std::vector<TourStep>& steps() {
  static const std::vector<TourStep> all = {
      {"A cluster is described once: here two nodes with eight GPUs and eight rails each.",
       {"check", "cluster.yaml"}},
      {"Both nodes were captured into files (`railbed capture` does that with yours), so nothing has to be asked.\n"
       "Of all that the rules find, causes come first, each with its remedy; what they explain is folded below them.",
       {"verify", "cluster.yaml", "--root", "."}},
      {"A rule teaches what it looks at, and why that matters.", {"explain", "rdma.pfc"}},
      {"What was measured between the two stands beside its ceiling, on one page that needs no network.",
       {"report", "--root", ".", "-o", "report.html"}},
  };
  return all;
}

Result<void> write_files(const fs::path& folder) {
  for (const TourFile& file : tour_files()) {
    const fs::path path = folder / file.name;
    if (const auto made = make_folder(path.parent_path()); !made) return made;
    if (const auto written = write_file(path, file.text); !written) return written;
  }
  return {};
}

// Waits for Enter on a terminal; false if the person ends the tour.
bool goes_on() {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) return true;
  fmt::print("\n[Enter: go on, Ctrl-C: end] ");
  std::fflush(stdout);
  std::string line;
  const bool more = static_cast<bool>(std::getline(std::cin, line));
  return more && !interrupted().stop_requested();
}

void show(const TourStep& step, bool colour) {
  std::string command = "railbed " + shell_line(step.words);
  fmt::print("\n{}\n\n{}$ {}{}\n", step.why, colour ? "\x1b[1m" : "", command, colour ? "\x1b[0m" : "");
  std::fflush(stdout);
}

int run_tour(const TourOptions& options) {
  std::error_code error;
  const fs::path folder = fs::absolute(options.folder, error);
  if (error)
    return report(
        {ErrorKind::kUnavailable, "cannot find the folder that this shell is in: " + error.message()});
  if (fs::exists(folder, error))
    return report(
        {ErrorKind::kBadInput, options.folder + " is there already: name another folder, or take it away"});
  if (const auto written = write_files(folder); !written) return report(written.error());
  fs::current_path(folder, error);
  if (error)
    return report(
        {ErrorKind::kUnavailable, fmt::format("cannot enter {}: {}", folder.string(), error.message())});
  const bool colour = use_colour(STDOUT_FILENO);
  fmt::print("What is shown here lies in {}. Its machines are composed, not captured.\n", folder.string());
  for (const TourStep& step : steps()) {
    show(step, colour);
    if (run_words(step.words) > kExitCouldNotLook) return kExitInternal;
    if (!goes_on()) return kExitClean;
  }
  fmt::print(
      "\nThe page is {0}/report.html: open it in a browser ({1}).\n"
      "Your own machines: `railbed verify` looks at this one, `railbed init HOST1 HOST2 -o cluster.yaml` at two\n"
      "others, and `railbed prove cluster.yaml` measures between them. To forget the tour: {2}\n",
      folder.string(), command("xdg-open {}/report.html", folder.string()).text(),
      command("rm -r {}", folder.string()).text());
  return kExitClean;
}

}  // namespace

Action declare_tour(CLI::App& app) {
  auto options = std::make_shared<TourOptions>();
  app.add_option("FOLDER", options->folder, "where its files go; it must not be there yet")
      ->capture_default_str();
  app.footer(
      "\nTwo minutes on any Linux machine, without root, GPUs or a network: a sick cluster of two composed nodes is checked,\n"
      "verified, explained and reported. Each step shows the command that it runs. Example:\n"
      "  railbed tour\n\n"
      "Exit codes: 0 shown, 3 its folder could not be written, 64 the folder is there already.");
  return [options] { return run_tour(*options); };
}

}  // namespace railbed
