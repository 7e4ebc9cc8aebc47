#include "os/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace railbed {
namespace {

struct Terminal {
  Fd ours;  // does not block
  Fd its;
  std::string path;
};

std::optional<Terminal> make_terminal() {
  Terminal made{Fd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), Fd(), ""};
  std::array<char, 128> name;
  if (!made.ours || grantpt(made.ours.get()) != 0 || unlockpt(made.ours.get()) != 0 ||
      ptsname_r(made.ours.get(), name.data(), name.size()) != 0)
    return std::nullopt;
  made.path = name.data();
  made.its = Fd(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios raw = {};
  if (!made.its || tcgetattr(made.its.get(), &raw) != 0) return std::nullopt;
  cfmakeraw(&raw);
  if (tcsetattr(made.its.get(), TCSANOW, &raw) != 0) return std::nullopt;
  set_blocking(made.ours.get(), false);
  return made;
}

tl::unexpected<Error> cannot_start(const std::string& program, int error) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot start {}: {}", program, std::strerror(error)));
}

}  // namespace

Result<Program> start_in_terminal(const std::vector<std::string>& words, const SecretFiles& secrets) {
  const auto refuse = [&](int error) { return cannot_start(words[0], error); };
  auto terminal = make_terminal();
  auto err = make_pipe();
  if (!terminal || !err) return refuse(errno);
  Fd in(fcntl(terminal->ours.get(), F_DUPFD_CLOEXEC, 0));
  if (!in) return refuse(errno);
  pid_t pid = -1;
  const StandardStreams streams{terminal->its.get(), terminal->its.get(), err->write_end.get()};
  if (const int error = spawn(words[0], words, streams, environ, pid, secrets); error != 0)
    return refuse(error);
  return Program{Child(pid, true), std::move(in), std::move(terminal->ours), std::move(err->read_end)};
}

Result<AskingProgram> start_beside_terminal(const std::vector<std::string>& words, char* const* environment) {
  auto terminal = make_terminal();
  auto in = make_sockets();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!terminal || !in || !out || !err) return cannot_start(words[0], errno);
  pid_t pid = -1;
  const StandardStreams streams{in->second.get(), out->write_end.get(), err->write_end.get(),
                                terminal->path.c_str()};
  if (const int error = spawn(words[0], words, streams, environment, pid); error != 0)
    return cannot_start(words[0], error);
  return AskingProgram{
      Program{Child(pid, true), std::move(in->first), std::move(out->read_end), std::move(err->read_end)},
      std::move(terminal->ours), std::move(terminal->its)};
}

}  // namespace railbed
