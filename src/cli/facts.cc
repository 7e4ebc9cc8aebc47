#include "facts/facts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/terminal.h"
#include "host/open.h"
#include "report/facts_text.h"

namespace railbed {

Action declare_facts(CLI::App& app) {
  struct Options {
    std::string root = "/";
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "the whole document (docs/reference/facts.md)");
  app.add_option("--root", options->root,
                 "look at a captured machine instead: a .tree file, or a folder like /");
  app.footer(
      "\nExamples:  railbed facts                       this machine on one screen\n"
      "           railbed facts --json > gpu01.json   everything the rules know\n"
      "           railbed facts --root gpu01.tree     a machine captured elsewhere");
  return [options] {
    auto host = open_root(options->root);
    if (!host) return report(host.error());
    const Facts facts = collect_facts(**host);
    fmt::print("{}", options->json ? facts_to_json(facts) : render_facts(facts));
    return looked_at_anything(facts) ? kExitClean : kExitCouldNotLook;
  };
}

}  // namespace railbed
