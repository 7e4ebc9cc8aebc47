#include "os/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "base/trusted_path.h"
#include "os/child.h"
#include "os/errno_name.h"
#include "os/words.h"

namespace railbed {
namespace {

// The caller's environment with messages in English.
std::vector<char*> plain_environment() {
  static char locale[] = "LC_ALL=C";
  std::vector<char*> environment;
  for (char** one = environ; *one != nullptr; ++one)
    if (std::strncmp(*one, "LC_ALL=", 7) != 0) environment.push_back(*one);
  environment.push_back(locale);
  environment.push_back(nullptr);
  return environment;
}

// Root runs only programs that root alone can change: `su` without "-" keeps the PATH of another user.
bool may_run(const std::string& program) {
  bool safe = true;
  if (geteuid() == 0) walk_to_end(program, [&](const std::string&) { safe = false; });
  return safe;
}

struct Located {
  std::string path = {};     // empty if it was not found, or only where it must not be run
  std::string refused = {};  // the first program of that name that another user could change
};
// Searches PATH and the sbin folders, where ip is: users other than root often lack these in PATH.
Located locate(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  Located located;
  const char* path = std::getenv("PATH");
  const std::string folders = std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/bin:/sbin:/bin";
  for (const auto folder : split(folders, ':')) {
    const std::string program = std::string(folder) + "/" + name;
    if (!folder.starts_with('/') || access(program.c_str(), X_OK) != 0) continue;
    if (may_run(program)) {
      located.path = program;
      return located;
    }
    if (located.refused.empty()) located.refused = program;
  }
  return located;
}

}  // namespace

std::string find_program(const std::string& name) { return locate(name).path; }

Reading<CommandOutput> run_program(const std::vector<std::string>& words, std::chrono::milliseconds deadline,
                                   std::stop_token stop, const SecretFiles& secrets) {
  const std::string from = joined(words);
  const auto& [program, refused] = locate(words.front());
  if (program.empty() && !refused.empty())
    return {Miss{Missing::kDenied,
                 refused + " is not run by root: other users can change it, or a folder above it"},
            from};
  if (program.empty()) return {Miss{Missing::kAbsent, words.front() + " is not installed"}, from};
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) return {miss_of(errno), from};
  pid_t pid = 0;
  const StandardStreams ends{-1, out->write_end.get(), err->write_end.get()};
  if (const int error = spawn(program, words, ends, plain_environment().data(), pid, secrets); error != 0)
    return {miss_of(error), from};
  Child child(pid, true);
  out->write_end.reset();
  err->write_end.reset();
  CommandOutput result;
  Child::Streams streams;
  streams.emplace_back(std::move(out->read_end), &result.output);
  streams.emplace_back(std::move(err->read_end), &result.error_output);
  const auto collect = [&] {
    // Destroyed before the child is reaped, so that its number cannot belong to another process yet.
    const std::stop_callback killer(stop, [&] { child.stop(); });
    return child.collect(streams, Child::Clock::now() + deadline);
  };
  if (const End end = collect(); end != End::kExited) return {miss_of_end(end), from};
  result.exit_code = child.exit_code();
  return {std::move(result), from};
}

}  // namespace railbed
