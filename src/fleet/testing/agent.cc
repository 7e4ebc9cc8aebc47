// An agent for the fleet's tests, whose methods are slow, ignore their stop, print, or end the agent on
// demand.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "fleet/fleet.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;

Result<std::string> hello(std::string_view, std::stop_token) {
  return fmt::format("{{\"pid\":{}}}", getpid());
}

// Returns the user that it runs as, and its file.
Result<std::string> whoami(std::string_view, std::stop_token) {
  char program[4096];
  const ssize_t count = readlink("/proc/self/exe", program, sizeof program);
  return fmt::format("{{\"uid\":{},\"program\":\"{}\"}}", geteuid(),
                     std::string_view(program, count > 0 ? static_cast<std::size_t>(count) : 0));
}

// Params: a file to create when it starts, and one to create when it is cancelled: "started stopped".
Result<std::string> wait_for_stop(std::string_view params, std::stop_token stop) {
  const auto files = words(params);
  const auto touch = [&](std::size_t i) {
    if (i < files.size()) close(open(std::string(files[i]).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  };
  touch(0);
  while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(2));
  touch(1);
  return fail(ErrorKind::kCancelled, "stopped");
}

Result<std::string> never_end(std::string_view, std::stop_token) {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// The standard output at the start of the program; serve_stdio() moves it to another descriptor.
struct stat first_output;

Result<std::string> write_raw(std::string_view params, std::stop_token) {
  for (int fd = 3; fd < 256; ++fd) {
    struct stat here;
    if (fstat(fd, &here) != 0 || here.st_dev != first_output.st_dev || here.st_ino != first_output.st_ino)
      continue;
    if (write(fd, params.data(), params.size()) > 0) break;
  }
  return "{}";
}

Result<std::string> long_answer(std::string_view params, std::stop_token) {
  return std::string(parse_number<std::size_t>(params).value_or(0), 'x');
}

Result<std::string> die(std::string_view, std::stop_token) {
  std::fprintf(stderr, "out of memory, sorry\n");
  std::fflush(stderr);
  _exit(9);
}

Result<std::string> chatter(std::string_view, std::stop_token) {
  std::puts("a library that prints");
  std::fflush(stdout);
  return fmt::format("{{\"stdin\":{}}}", std::getchar());
}

}  // namespace
}  // namespace railbed

int main(int argc, char** argv) {
  using namespace railbed;
  if (argc != 2 || std::string_view(argv[1]) != "agent") return kExitUsage;
  const Handlers handlers = {
      {"hello", hello},
      {"whoami", whoami},
      {"echo",
       [](std::string_view params, std::stop_token) { return Result<std::string>(std::string(params)); }},
      {"refuse",
       [](std::string_view, std::stop_token) -> Result<std::string> {
         return fail(ErrorKind::kBadInput, "no such rail");
       }},
      {"long", long_answer},
      {"files", long_answer},  // a method that permits long responses
      {"wait_for_stop", wait_for_stop},
      {"never_end", never_end},
      {"write_raw", write_raw},
      {"die", die},
      {"chatter", chatter},
  };
  fstat(STDOUT_FILENO, &first_output);
  _exit(fleet::serve_stdio(handlers) == 0 ? 0 : 1);
}
