// Brings an agent to a node over one ssh connection. The node needs nothing but a POSIX shell.
//
// ssh runs kScript on the node. The script knows the hash and the size of every agent that the controller
// could send, and looks for the one for its machine's architecture in railbed's folders. If it finds an
// intact copy, the shell becomes the agent by exec (as root: root_start.cc); from then on, standard input and
// output carry frames. Otherwise it prints "push ARCHITECTURE zstd gzip", with the packers that it can
// unpack. The controller sends one line, with the number of bytes and how they are packed, and then exactly
// that many bytes. Anything after them is for the agent. The script gives the copy its final name, which is
// its hash, only once the copy is complete: two controllers that push at once do no harm, and another version
// never meets a stale copy. A packed copy is complete if the packer found its own checksum correct and the
// size is right; an unpacked one is hashed. A copy that was cut off keeps a temporary name and is removed.
//
// The bytes are sent in pieces. The script prints "more" after it has read one, and only then gets the next.
// sshd (OpenSSH 9.2) copies its whole buffer, up to two megabytes, for every packet that it cannot pass on
// yet; on a busy node that cost more than the rest of a push. Only one piece may be on its way, because
// busybox's head reads beyond its limit and must find nothing there.
//
// Reading and hashing the copy at every start would cost more than all the facts of a node. So the script
// writes an empty file "used" beside the copy whenever it finds the copy intact. A copy that is older than
// that file has not been written to since. A copy that is not older, or a shell without -nt, means that the
// copy is hashed again. A warm start runs no program but the agent, because each costs a busy node a
// millisecond: Linux 6.1 and later have a file with the output of uname -m.
//
// The agent has the umask of the login. The login's LC_ALL is passed on in RAILBED_LOGIN_LOCALE, for programs
// that run with the user's settings (os/supervisor.cc).
//
// A login shell may print anything before. So the script marks its lines with a nonce that no greeting can
// hold, and frames start with a byte that no greeting holds (frame.cc).
#include "fleet/bootstrap.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>

#include "base/shell.h"
#include "base/text.h"

namespace railbed::fleet {
namespace {

// For any POSIX shell with coreutils or busybox. A directory is used only if the user owns it, it is no
// symbolic link (checked before anything is created in it), no link of another user leads to it, it has room,
// and programs in it may run (no noexec). /dev/shm and /tmp are writable by everyone, hence the first two
// conditions.
constexpr std::string_view kScript = R"sh(RAILBED_LOGIN_LOCALE=${LC_ALL-}; export RAILBED_LOGIN_LOCALE
LC_ALL=C; export LC_ALL
m=
exec 3>&1
say() { echo "railbed:@NONCE@: $*" >&3; }
{ read a </proc/sys/kernel/arch; } 2>/dev/null || a=$(uname -m)
case $a in
@AGENTS@
*) say architecture "$a"; exit 0 ;;
esac
@START@
ways() {
  p=${1%/*}
  while [ -n "$p" ]; do
    [ ! -L "$p" ] || [ -n "$(find "$p" -prune "(" -user 0 -o -user "$(id -u)" ")")" ] || return 1
    q=${p%/*}
    [ "$q" != "$p" ] || break
    p=$q
  done
}
mine() { ways "$1" && [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
unchanged() { [ -x "$1/railbed" ] && [ "$1/used" -nt "$1/railbed" ]; }
whole() { [ -x "$1" ] && [ "$(wc -c <"$1")" -eq "$s" ]; }
intact() {
  whole "$1" || return 1
  command -v sha256sum >/dev/null 2>&1 || return 0
  set -- $(sha256sum <"$1")
  [ "$1" = "$h" ]
}
made() {
  [ -e "$1" ] || [ -L "$1" ] || { mkdir "$1" && return; } || return 1
  mine "$1" || { echo "$1: not a directory of our own"; return 1; }
  chmod 700 "$1"
}
usable() {
  ways "$1" || { echo "$1: a link of another user is on its way"; return 1; }
  [ -d "${1%/*}" ] || mkdir -p "${1%/*}" || return 1
  made "$1" && made "$1/agents" || return 1
  v=$(df -Pk "$1/agents" | { read x; read x x x v x; echo "$v"; })
  [ "${v:-0}" -ge "$((s / 1024 + 16))" ] || { echo "$1: No space left on device, $v KiB free"; return 1; }
  p=$1/agents/tmp.@NONCE@.sh
  { echo "#!/bin/sh" >"$p" && chmod 700 "$p" && "$p"; }
  r=$?
  rm -f "$p"
  return $r
}
@SHARED@
use() {
  { true >"$1/used"; } 2>/dev/null
  [ -z "$m" ] || umask "$m"
  start "$1/railbed"
}
look() {
  f=$1/agents/$h
  mine "$1" && mine "$1/agents" && { unchanged "$f" || intact "$f/railbed"; } && use "$f"
}
set -- "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/railbed"
look "$1"
m=$(umask)
umask 077
u=$(id -u)
set -- "$1" "/dev/shm/railbed-$u" "${TMPDIR:-/tmp}/railbed-$u"
look "$2"
look "$3"
why=
b=
for d do
  e=$(usable "$d" 2>&1) && { b=$d/agents; break; }
  why="$why$e; "
done
[ -n "$b" ] || { say nowhere $why; exit 0; }
z=
for x in zstd gzip; do command -v $x >/dev/null 2>&1 && z="$z $x"; done
say push "$a" $z
read n c || exit 0
t=$b/tmp.@NONCE@
trap "rm -f \"$t\"" EXIT
trap "exit 1" HUP INT TERM
fails() { rm -f "$t"; say failed "$@"; exit 0; }
pieces() {
  while [ "$n" -gt @PIECE@ ]; do
    head -c @PIECE@ || return
    n=$((n - @PIECE@))
    say more
  done
  head -c "$n"
}
take() { if [ "$c" = raw ]; then pieces; else pieces | "$c" -dc; fi; }
e=$({ take >"$t" && dd if=/dev/null of="$t" conv=notrunc,fsync; } 2>&1) ||
  fails ${e:-the copy differs from what was sent}
chmod 700 "$t"
whole "$t" && { [ "$c" != raw ] || intact "$t"; } ||
  fails the copy differs from what was sent
e=$({ mkdir -p "$b/$h" && true >"$b/$h/used" && mv -f "$t" "$b/$h/railbed"; } 2>&1) || fails $e
tidy() {
  k=0
  for x in $(cd "$b" && ls && ls -t */used); do
    case $x in
    */used) [ ${#x} -ne 69 ] || { k=$((k + 1)); [ $k -le 3 ]; } ;;
    *) [ ${#x} -ne 64 ] || [ -e "$b/$x/used" ] ;;
    esac || rm -rf "$b/${x%/used}"
  done
  find "$b" -name "tmp.*" -mmin +60 -exec rm -f {} + 2>/dev/null
}
set -- "$b"/*
[ $# -le 1 ] || tidy
use "$b/$h"
)sh";

// A file that the node already has may be at a path that others on the node share. It is run only if only
// root and the user can change it and each folder on its path; otherwise it could be replaced after the
// check. -perm -020 also shows what access control lists permit (acl(5)).
constexpr std::string_view kSafe = R"sh(safe() {
  p=$1 v=$(id -u)
  while :; do
    x=$(find "$p" -prune ! -type l "(" -user 0 -o -user "$v" ")" "(" ! -perm -020 ! -perm -002 -o -type d -perm -1000 ")" 2>/dev/null)
    [ "$x" = "$p" ] || return 1
    [ "$p" != / ] || return 0
    p=${p%/*} p=${p:-/}
  done
}
)sh";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string mark_of(std::string_view nonce) { return fmt::format("railbed:{}: ", nonce); }

}  // namespace

std::string bootstrap_command(const std::vector<AgentBinaries::Known>& agents, std::string_view nonce,
                              std::string_view start, std::string_view shared) {
  std::string arms;
  for (const AgentBinaries::Known& agent : agents)
    arms += fmt::format("{}) h={} s={} ;;\n", agent.architecture, agent.hash, agent.size);
  std::string script(kScript);
  replace_all(script, "@AGENTS@\n", arms);
  replace_all(script, "@START@\n", start);
  const std::string path = shell_quote(shared);
  replace_all(
      script, "@SHARED@\n",
      shared.empty() ? "" : fmt::format("{}! safe {} || ! intact {} || start {}\n", kSafe, path, path, path));
  replace_all(script, "@NONCE@", nonce);
  replace_all(script, "@PIECE@", fmt::to_string(kPiece));
  return "exec sh -c " + shell_quote(script);
}

std::optional<BootstrapLine> bootstrap_line(std::string_view noise, std::string_view nonce) {
  const std::string mark = mark_of(nonce);
  const std::size_t at = noise.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view line = noise.substr(at + mark.size());
  const std::size_t end = line.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  line = trim(line.substr(0, end));
  const std::size_t space = std::min(line.find(' '), line.size());
  return BootstrapLine{std::string(line.substr(0, space)), std::string(trim(line.substr(space)))};
}

std::string without_bootstrap_lines(std::string_view noise, std::string_view nonce) {
  const std::string mark = mark_of(nonce);
  std::string rest;
  for (const std::string_view line : lines(noise)) rest.append(line.substr(0, line.find(mark))).append("\n");
  return rest;
}

std::size_t bootstrap_allowance(std::string_view noise, std::string_view nonce) {
  const std::string more = mark_of(nonce) + "more\n";
  std::size_t pieces = 1;
  for (std::size_t at = 0; (at = noise.find(more, at)) != std::string_view::npos; at += more.size()) ++pieces;
  return pieces * kPiece;
}

std::string bootstrap_reply(std::size_t bytes, std::string_view packer) {
  return fmt::format("{} {}\n", bytes, packer);
}

std::string make_nonce() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint64_t>(time(nullptr));
  return fmt::format("{:016x}", number);
}

}  // namespace railbed::fleet
