#include "facts/facts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "host/open.h"
#include "report/text/facts_text.h"
#include "report/text/topology.h"

namespace railbed {
namespace {

constexpr Document<Facts> kFactsDocument{"railbed-facts", kFactsVersion};
constexpr Document<TopologyMatrix> kTopologyDocument{"railbed-topology"};

}  // namespace

Action declare_facts(CLI::App& app) {
  struct Options {
    std::string root = "/";
    bool json = false;
    bool topology = false;
  };
  auto options = std::make_shared<Options>();
  add_json_flag(app, options->json, "the whole document (docs/reference/facts.md)", kFactsDocument,
                kTopologyDocument);
  app.add_flag("--topology", options->topology,
               "how near GPUs and network adapters are to each other, and the nearest adapter of each GPU");
  app.add_option(
      "--root", options->root,
      "look at a captured machine instead: a .tree file, a folder like /, or what was sent to support "
      "(sosreport, nvidia-bug-report, command outputs)");
  app.footer(
      "\nExamples:  railbed facts                       this machine on one screen\n"
      "           railbed facts --json > gpu01.json   everything the rules know\n"
      "           railbed facts --root gpu01.tree     a machine captured elsewhere\n"
      "           railbed facts --topology            which adapter is nearest to which GPU");
  return [options] {
    std::vector<Unread> unread;
    auto host = open_root(options->root, &unread);
    if (!host) return report(host.error());
    for (const std::string& line : lines_of(unread)) say_to_person(line);
    const Facts facts = collect_facts(**host);
    if (options->topology) {
      const TopologyMatrix matrix = topology_of(facts);
      print_result(options->json ? document_text(kTopologyDocument, matrix) : render_topology(matrix));
    } else {
      print_result(options->json ? document_text(kFactsDocument, facts) : render_facts(facts));
    }
    return looked_at_anything(facts) ? kExitClean : kExitCouldNotLook;
  };
}

}  // namespace railbed
