#include "facts/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>

#include "base/fd.h"
#include "base/files.h"
#include "base/shell.h"
#include "base/trusted_path.h"
#include "cli/command.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "facts/mask/mask.h"
#include "host/calls.h"
#include "host/open.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

struct CaptureOptions {
  std::string output;
  std::string root = "/";
  bool mask = false;
  bool force = false;
  CollectOptions collect;
};

// Writes the capture, readable only for this user from the first byte on: its content may be confidential.
Result<void> write_capture(const CaptureOptions& options, std::string_view text) {
  if (options.output == "-") return write_file("/dev/stdout", text);
  if (options.force) return write_file(options.output, text, 0600);
  RETURN_IF_ERROR(check_writable(options.output));
  const FoundEntry place = find_entry(options.output, Strangers::kMayWrite);
  if (!place) return cannot("write", options.output, place.error());
  const Fd fd = place->open(O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd && errno == EEXIST)
    return fail(ErrorKind::kBadInput,
                options.output + " exists already: choose another name, or add --force");
  if (!fd || !write_all(fd.get(), text))
    return fail(ErrorKind::kUnavailable, options.output + ": " + miss_of(errno).why);
  return {};
}

int run_capture(const CaptureOptions& options) {
  // In a tree a missing file is absent. A support report leaves that unknown, so it cannot become a tree.
  if (holds_reports(options.root))
    return report({ErrorKind::kBadInput,
                   options.root +
                       ": a support report cannot be packed as a tree: what it does not hold would read as "
                       "absent; send it as it is, or capture the machine itself"});
  auto host = open_root(options.root);
  if (!host) return report(host.error());
  if (options.collect.load_seconds)
    progress(fmt::format("putting the machine under load for {} s", *options.collect.load_seconds));
  Tree tree = capture(**host, options.collect);
  clear_progress();
  if (options.mask) {
    Mask mask;
    tree = masked(tree, mask);
  }
  if (const auto written = write_capture(options, write_tree(tree)); !written) return report(written.error());
  std::size_t files = 0;
  std::as_const(tree).each([&](const std::string&, const TreeEntry&) { ++files; });
  if (options.output != "-")
    fmt::print("{}: {} files, {} commands{}\nLook at it:  {}\n", options.output, files, tree.commands.size(),
               options.mask ? ", names and addresses masked" : "; not masked: it names this machine",
               command("railbed facts --root {}", options.output).text());
  return kExitClean;
}

}  // namespace

Action declare_capture(CLI::App& app) {
  auto options = std::make_shared<CaptureOptions>();
  app.add_option("-o,--output", options->output, "the .tree file to write; - for standard output")
      ->required();
  app.add_flag(
      "--mask", options->mask,
      "hide MAC and public IP addresses, GUIDs, UUIDs, serial numbers, host and user names, secrets");
  app.add_option("--load", options->collect.load_seconds,
                 "keep what the GPUs and error counters do under load, too, for so many seconds (10)")
      ->expected(0, 1)
      ->default_str(std::to_string(kLoadSeconds))
      ->check(between(1, kMaxLoadSeconds));
  app.add_flag("--force", options->force, "overwrite the file");
  app.add_option("--root", options->root, "pack a captured machine again instead of this one");
  app.footer(
      "\nPacks exactly what `railbed facts` reads into one text file (docs/reference/tree-format.md), "
      "so that\n"
      "this machine's problem can be looked at elsewhere, and become a test.\n\n"
      "Example:  railbed capture --mask -o gpu01.tree");
  return [options] { return run_capture(*options); };
}

}  // namespace railbed
