// Lets ranks of one start find and trust each other, without MPI and without a fixed port.
//
// Rank 0 listens. Every other rank retries until it can connect, because processes start in any order. Each
// derives the same place independently: the host from the launcher's variables, and the port from a hash of
// user and job, below the ports that Linux assigns. Another job may use that port, and anyone may connect to
// it, so both sides authenticate.
//
// 1. Rank 0 sends a nonce.
// 2. The rank sends its introduction, its own nonce, and a proof over both nonces that requires the secret.
// 3. Rank 0 sends its own proof. It covers the same text, but differs, so that the rank's proof cannot be
//    sent back.
//
// Nonces are new each time, so recorded proofs are useless. Then the rank serves requests on the same socket,
// as an agent does on its standard streams. Rank 0 listens only until all ranks have arrived
// (rank_reception.cc), and a slow client does not delay it (os/door.h).
#include "fleet/rendezvous.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/ip.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "fleet/frame.h"
#include "fleet/rank_door.h"
#include "os/wait.h"

namespace railbed::fleet {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr auto kBetweenTries = std::chrono::milliseconds(100);
constexpr auto kTry = std::chrono::seconds(2);

// Returns a port below those that Linux assigns by itself (ip_local_port_range: from 32768).
int usual_port(std::string_view job) {
  constexpr int kFirst = 20'000;
  constexpr int kCount = 10'000;
  const std::string hash = sha256_hex(fmt::format("{} {}", geteuid(), job));
  return kFirst + parse_number<int>(hash.substr(0, 7), 16).value_or(0) % kCount;
}

bool set_port(Rendezvous& at, std::string_view text) {
  const auto port = parse_number<int>(text);
  if (!port || *port < 1 || *port > 65'535) return false;
  at.port = *port;
  return true;
}

// Parses "gpu01", "gpu01:29500", "10.0.0.1:29500", "fe80::1", "[fe80::1]:29500". Returns false if the text is
// invalid.
bool set_place(Rendezvous& at, std::string_view text) {
  const auto colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  const bool has_port =
      colon != std::string_view::npos && (bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  std::string_view host = has_port ? text.substr(0, colon) : text;
  if (bracketed) {
    if (!host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
  }
  at.host = host;
  return !host.empty() && (!has_port || set_port(at, text.substr(colon + 1)));
}

// The result of one attempt: a socket, nullopt for another attempt, or an error that no further attempt would
// change.
using Attempt = Result<std::optional<Fd>>;

class Knock {
 public:
  Knock(const Rendezvous& at, const RankIntroduction& own, Time until, const std::stop_token& stop)
      : at_(at), own_(own), until_(until), stop_(stop) {}

  Attempt on(Fd fd) {
    if (wait_writable(fd.get(), std::min(until_, std::chrono::steady_clock::now() + kTry), stop_) !=
        Waited::kReady)
      return std::nullopt;
    // Rank 0 may send its greeting long after the kernel has accepted the connection.
    ASSIGN_OR_RETURN(const auto greeting, read_line(fd.get(), until_, stop_));
    if (!greeting) return std::nullopt;
    if (greeting->starts_with(kGreetingName) && !greeting->starts_with(kGreeting))
      return fail(
          ErrorKind::kUnavailable,
          fmt::format("rank 0 at {} port {} runs another version of railbed than this rank ({}): start the "
                      "same program on all nodes",
                      at_.host, at_.port, railbed_version()));
    if (!greeting->starts_with(kGreeting)) return stranger("says \"" + quotable(*greeting, 60) + '"');
    return introduce(std::move(fd), greeting->substr(kGreeting.size()));
  }

 private:
  Attempt introduce(Fd fd, const std::string& nonce) {
    RankHello hello{own_, random_hex(kNonceBytes), ""};
    hello.proof = proof_of(at_, Prover::kRank, nonce, hello.nonce, own_);
    const std::string line = json::dump(json::encode(hello)) + "\n";
    if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
      return std::nullopt;
    ASSIGN_OR_RETURN(const auto answer, read_line(fd.get(), until_, stop_));
    if (!answer) return std::nullopt;
    const std::string& text = *answer;
    if (text.starts_with(kRefusal))
      return fail(ErrorKind::kUnavailable, fmt::format("rank 0 at {} port {} refused: {}", at_.host, at_.port,
                                                       quotable(text.substr(kRefusal.size()))));
    const std::string right = proof_of(at_, Prover::kRankZero, nonce, hello.nonce, own_);
    if (!text.starts_with(kWelcome) || !same_secret(text.substr(kWelcome.size()), right))
      return stranger("does not know the secret");
    keep_alive(fd.get());
    set_blocking(fd.get(), true);
    return std::optional(std::move(fd));
  }

  tl::unexpected<Error> stranger(const std::string& does) const {
    return fail(ErrorKind::kUnavailable,
                fmt::format("what answers at {} port {} {}: it is not rank 0 of this start; "
                            "--rendezvous HOST:PORT takes another port",
                            at_.host, at_.port, does));
  }

  const Rendezvous& at_;
  const RankIntroduction& own_;
  const Time until_;
  const std::stop_token& stop_;
};

}  // namespace

Result<Rendezvous> plan_rendezvous(const LaunchedRank& launched, const Environment& environment,
                                   const std::string& wanted) {
  Rendezvous at;
  at.job = launched.job;
  at.port = usual_port(launched.job);
  if (!wanted.empty()) {
    if (!set_place(at, wanted))
      return fail(ErrorKind::kBadInput,
                  "--rendezvous: HOST or HOST:PORT of rank 0, not \"" + printable(wanted) + '"');
  } else if (launched.one_host) {
    at.host = "127.0.0.1";
  } else if (at.host = text_of(environment, "MASTER_ADDR"); !at.host.empty()) {
    const auto port = text_of(environment, "MASTER_PORT");
    if (!port.empty() && !set_port(at, port))
      return fail(ErrorKind::kBadInput, "MASTER_PORT: no port: \"" + printable(port) + '"');
  } else if (at.host = launched.first_host; at.host.empty()) {
    return fail(
        ErrorKind::kBadInput,
        fmt::format(
            "{} does not say on which host rank 0 is: name it with --rendezvous HOST, or in MASTER_ADDR",
            launched.launcher));
  }
  return at;
}

Result<std::optional<Fd>> knock_at_rank_zero(Fd socket, const Rendezvous& at, const RankIntroduction& own,
                                             Time until, const std::stop_token& stop) {
  return Knock(at, own, until, stop).on(std::move(socket));
}

Result<Fd> reach_rank_zero(const Rendezvous& at, const RankIntroduction& own, const std::stop_token& stop) {
  const Time until = std::chrono::steady_clock::now() + at.patience;
  do {
    ASSIGN_OR_RETURN(auto sockets, start_connecting(at));
    for (Fd& socket : sockets) {
      ASSIGN_OR_RETURN(auto attempt, knock_at_rank_zero(std::move(socket), at, own, until, stop));
      if (attempt) return std::move(*attempt);
    }
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped while rank 0 was awaited");
    std::this_thread::sleep_for(kBetweenTries);
  } while (std::chrono::steady_clock::now() < until);
  return fail(ErrorKind::kTimeout,
              fmt::format("no rank 0 at {} port {} within {:.3g} s; if it runs on another host: --rendezvous",
                          at.host, at.port, std::chrono::duration<double>(at.patience).count()));
}

}  // namespace railbed::fleet
