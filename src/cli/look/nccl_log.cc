#include "cli/look/nccl_log.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "diagnose/log/job_log.h"

namespace railbed {
namespace {

Result<diagnose::Log> read_log(const std::string& path) {
  Fd named = open_named(path);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(named ? fdopen(named.release(), "rb") : nullptr,
                                                       [](std::FILE* file) { return std::fclose(file); });
  if (!file) return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  diagnose::LogReader reader;
  std::array<char, 1 << 16> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), file.get()))
    reader.feed({piece.data(), size});
  if (std::ferror(file.get()) != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  return reader.finish();
}

}  // namespace

int log_exit_code(const diagnose::Log& log) {
  if (!diagnose::is_recognised(log)) return kExitCouldNotLook;
  switch (log.verdict.severity) {
    case nccl::Severity::kError:
      return kExitFailures;
    case nccl::Severity::kWarning:
      return kExitWarnings;
    case nccl::Severity::kNote:
      return kExitClean;
  }
  return kExitInternal;
}

int explain_nccl_log(const std::string& path, bool json) {
  const auto log = read_log(path);
  if (!log) return report(log.error());
  print_result(json ? document_text(kLogDocument, *log) : diagnose::to_text(*log));
  return log_exit_code(*log);
}

}  // namespace railbed
