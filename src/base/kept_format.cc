#include "base/kept_format.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/version.h"

namespace railbed {
namespace {

constexpr std::array kFormats = {
    // Version 1 is of two forms: until a finding was held before it is gone, one that flaps had no count.
    KeptFormat{"what a monitor remembers", 1, 2,
               "or begin without it: --fresh-state renames the file and starts"},
    // Version 1 kept neither the options of a run nor the data for pictures.
    KeptFormat{"a history of runs", 1, 2, "or name another file with --store"},
    KeptFormat{"a run", 1, 1, "or export the run with this one, if its history is here"},
    KeptFormat{"the record of a change of this node", 1, 1,
               "for this one could undo only what it knows of that change"},
    KeptFormat{"what a monitor saw over time", 1, 1, "or remove the file: the monitor begins to look anew"},
    KeptFormat{"the record of a job", 1, 1, "or name another folder with --dir"},
    KeptFormat{"a burn-in that goes on", 1, 1, "or wait: its load ends by itself"},
};

}  // namespace

const KeptFormat& format_of(Kept kind) { return kFormats[static_cast<std::size_t>(kind)]; }

Result<void> check_kept(Kept kind, std::string_view file, const KeptStamp& stamp) {
  const KeptFormat& format = format_of(kind);
  if (stamp.version >= format.oldest && stamp.version <= format.written) return {};
  const std::string known = format.oldest == format.written
                                ? fmt::format("version {}", format.written)
                                : fmt::format("versions {} to {}", format.oldest, format.written);
  if (stamp.version < format.oldest)
    return fail(ErrorKind::kBadInput,
                fmt::format("{}: {} of version {}, which no railbed writes: this one reads {}", file,
                            format.what, stamp.version, known));
  std::string writer = printable(stamp.railbed.substr(0, 64));
  if (writer == railbed_version()) writer.clear();  // another build of this version
  return fail(
      ErrorKind::kBadInput,
      fmt::format(
          "{}: {} of version {}, written by a newer railbed{}. This one, {}, reads {} and leaves the file "
          "as it is. Use {}, {}",
          file, format.what, stamp.version, writer.empty() ? "" : " (" + writer + ")", railbed_version(),
          known, writer.empty() ? "a newer railbed" : "railbed " + writer + " or a newer one",
          format.remedy));
}

}  // namespace railbed
