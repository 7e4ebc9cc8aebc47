#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "report/causes.h"
#include "report/escape.h"
#include "report/findings.h"

namespace railbed {
namespace {}  // namespace

std::string shortened_bytes(std::string text, std::size_t most) {
  constexpr std::string_view kEllipsis = "…";
  if (text.size() <= most) return text;
  std::size_t end = most < kEllipsis.size() ? 0 : most - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  text.resize(end);
  return text += kEllipsis;
}

std::string render_line(const Finding& finding, std::size_t most_bytes) {
  std::string text(finding.rule);
  // Most messages begin with their subject.
  if (!finding.subject.empty() && !finding.message.starts_with(finding.subject))
    text += ' ' + finding.subject;
  return shortened_bytes(printable(text + ": " + finding.message), most_bytes);
}

std::string render_line(const Verdict& verdict, std::size_t most_bytes) {
  const StatusCounts counts = verdict.findings.counts();
  // The first finding is the worst, or explains it.
  const auto first = [&] { return render_line(verdict.findings.front(), std::string::npos); };
  if (counts.fail > 0) return shortened_bytes(first(), most_bytes);
  const auto unknown = std::ranges::find(verdict.findings, Status::kUnknown, &Finding::status);
  if (counts.unknown > 0) return render_line(*unknown, most_bytes);
  if (counts.pass + counts.warn == 0) return "nothing could be checked here";
  if (counts.warn > 0)
    return shortened_bytes(fmt::format("{}, no failure: {}", counted(counts.warn, "warning"), first()),
                           most_bytes);
  return fmt::format("{} passed", counted(counts.pass, "check"));
}

}  // namespace railbed
