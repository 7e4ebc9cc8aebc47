// Subcommands of `railbed bmc` that only Redfish supports: certificates, and a virtual CD.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/bmc/bmc_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr Document<std::vector<ShownCertificate>> kCertificatesDocument{"railbed-bmc-certificates", 1,
                                                                        "nodes"};

struct MediaCommand : BmcCommand {
  std::string image;
};

// Returns lines of a file of certificates, so that the output, once a person has compared it, can be kept as
// that file.
std::string certificate_text(const ShownCertificate& certificate) {
  if (!certificate.error.empty())
    return fmt::format("# {}: {}\n", certificate.node, printable(certificate.error));
  const std::string_view state = certificate.changed    ? "  ANOTHER KEY than the one that is trusted"
                                 : certificate.expected ? "  trusted"
                                                        : "";
  return fmt::format("# {}: {}, until {}{}\n{} {}\n", certificate.node, certificate.subject,
                     certificate.until, state, certificate.node, certificate.key);
}

int run_certificates(const BmcCommand& command) {
  auto places = open_places_unknown(command);
  if (!places) return report(places.error());
  const auto shown = show_certificates(places->cluster, places->names, places->reach, terminal_caller());
  if (command.json) print_document(kCertificatesDocument, shown);
  bool lost = false;
  bool changed = false;
  for (const ShownCertificate& certificate : shown) {
    if (!command.json) fmt::print("{}", certificate_text(certificate));
    lost = lost || !certificate.error.empty();
    changed = changed || certificate.changed;
  }
  return changed ? kExitFailures : lost ? kExitCouldNotLook : kExitClean;
}

// Checks that the BMC can fetch the image. A password in the address would show in the list of processes, so
// it is refused.
Result<void> check_image(const std::string& image) {
  const std::size_t host = image.starts_with("https://") ? 8 : image.starts_with("http://") ? 7 : 0;
  constexpr std::size_t kLongest = 1024;
  if (host == 0 || !is_plain_word(image, kLongest))
    return fail(ErrorKind::kBadInput,
                "the image is named by an http:// or https:// address that the BMC reaches");
  if (image.substr(host, image.find('/', host) - host).find('@') != std::string::npos)
    return fail(ErrorKind::kBadInput,
                "the image's address may hold no user and no password: everybody would see them");
  return {};
}

int run_media(const MediaCommand& command) {
  const bool insert = !command.image.empty();
  if (insert)
    if (const auto sound = check_image(command.image); !sound) return report(sound.error());
  auto places = open_places(command);
  if (!places) return report(places.error());
  const auto changes = change_bmcs(
      places->cluster, places->names, "virtual CD",
      [&](Bmc& bmc) { return insert ? bmc.insert_media(command.image) : bmc.eject_media(); }, places->reach,
      terminal_caller());
  return print_changes(changes, insert ? "the image is its virtual CD now" : "its virtual CD is empty now",
                       command.json);
}

}  // namespace

void add_redfish_commands(CLI::App& app, const std::shared_ptr<Action>& chosen) {
  CLI::App* sub = nullptr;
  auto certificates = std::make_shared<BmcCommand>();
  sub = app.add_subcommand("certificates",
                           "which keys BMCs show over HTTPS: to compare, and to keep in a file");
  add_bmc_options(*sub, *certificates);
  declare_document(kCertificatesDocument);
  sub->callback(
      [certificates, chosen] { *chosen = [certificates] { return run_certificates(*certificates); }; });

  auto insert = std::make_shared<MediaCommand>();
  sub = app.add_subcommand("insert", "put an image into the virtual CD (Redfish)");
  sub->add_option("IMAGE", insert->image, "http or https address of an ISO that the BMC can reach")
      ->required();
  add_bmc_options(*sub, *insert);
  sub->callback([insert, chosen] { *chosen = [insert] { return run_media(*insert); }; });

  auto eject = std::make_shared<MediaCommand>();
  sub = app.add_subcommand("eject", "take the image out of the virtual CD (Redfish)");
  add_bmc_options(*sub, *eject);
  sub->callback([eject, chosen] { *chosen = [eject] { return run_media(*eject); }; });
}

}  // namespace railbed
