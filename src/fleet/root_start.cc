// Decides which file runs as root, and how sudo gets its password.
//
// The user's other processes, and anyone else who can write there, may change the file that the bootstrap
// script leaves in the user's cache. So root never runs that file. It creates /opt/railbed/bin, whose parents
// must all be directories that only root can write to. It copies the file there, hashes the copy, which
// nobody else can reach, and runs it only if it has the hash that the controller requested. A change of the
// user's file before, during or after that can only cause the copy to be refused.
//
// The user's file is read by a process of the user, if util-linux's setpriv(1) can start one. Root may not be
// able to read it, because homes on NFS squash root. And a link to a file that only root can read reveals
// nothing. That process gets a pipe instead of the copy itself: another process of the user could take over
// an open file and write to it after the check.
//
// The copy is hashed at each start, so only its content has to be synced: a rename that is lost in a power
// cut is repeated.
//
// sudo's prompt is a marker with a nonce, on standard error. The password is sent after the marker was seen,
// and at no other time. With a NOPASSWD rule sudo does not prompt, and a password already sent would reach
// the agent as its first bytes. -k makes sudo prompt even if it remembers the password, and remember nothing
// (sudo(8)).
#include "fleet/root_start.h"

#include <fmt/format.h>

namespace railbed::fleet {
namespace {

constexpr std::string_view kQuestion = "railbed:{}: password";

// Run by any /bin/sh, with the source, its hash and size, the nonce, and the user's uid and gid as arguments.
// It must not hold single quotes, because it is placed between them. -perm -020 and -002 also show what
// access control lists permit (acl(5)).
constexpr std::string_view kRootScript = R"sh(set -f
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
export PATH LC_ALL
umask 022
cd /
h=$2 n=$4 u=$5 g=$6
say() { echo "railbed:$n: $*"; exit 0; }
closed() {
  [ "$(find "$1" -prune -type d -user 0 ! -perm -020 ! -perm -002)" = "$1" ] || say root-folder "$1 ($(ls -ld "$1" 2>&1))"
}
intact() {
  [ -f "$1" ] && [ ! -L "$1" ] || return 1
  set -- $(sha256sum <"$1")
  [ "$1" = "$h" ]
}
as_user() {
  p="setpriv --reuid $u --regid $g --clear-groups --"
  [ "$u" != 0 ] && $p true 2>/dev/null || p=
  $p "$@"
}
keep_two() {
  k=0
  for x in $(ls -t "$d"); do
    case $x in
    "railbed-$h") ;;
    railbed-*) k=$((k + 1)); [ $k -le 2 ] || rm -f "$d/$x" ;;
    esac
  done
  find "$d" -name "tmp.*" -mmin +60 -exec rm -f {} +
}
command -v sha256sum >/dev/null 2>&1 || say root-failed sha256sum is missing
closed /
for d in /opt /opt/railbed /opt/railbed/bin; do
  [ -e "$d" ] || [ -L "$d" ] || e=$(mkdir "$d" 2>&1) || say root-failed $e
  closed "$d"
done
f=$d/railbed-$h
if ! intact "$f"; then
  t=$d/tmp.$n
  trap "rm -f \"$t\"" EXIT
  trap "exit 1" HUP INT TERM
  e=$(umask 077; { as_user timeout 60 head -c $(($3 + 1)) "$1" </dev/null | cat >"$t" && sync "$t"; } 2>&1) ||
    say root-failed $e
  intact "$t" || say root-differs "$1" $e
  [ ! -L "$f" ] || rm -f "$f"
  e=$({ chmod 755 "$t" && mv -f "$t" "$f"; } 2>&1) || say root-failed $e
  command -v restorecon >/dev/null 2>&1 && restorecon -R /opt/railbed >/dev/null 2>&1
  keep_two 2>/dev/null
fi
[ -x "$f" ] || say root-noexec "$f"
touch "$f" 2>/dev/null
exec "$f" agent
)sh";

constexpr std::string_view kStartAsRoot = R"sh(start() {{
  u=$(id -u)
  set -- /bin/sh -c '{}' railbed-root "$1" "$h" "$s" @NONCE@ "$u" "$(id -g)"
  [ "$u" != 0 ] || exec "$@" 3>&-
  command -v sudo >/dev/null 2>&1 || {{ say no-sudo; exit 0; }}
  exec sudo {} -- "$@" 3>&-
}}
)sh";

}  // namespace

std::string root_start(bool with_password) {
  const std::string question = fmt::format(kQuestion, "@NONCE@");
  return fmt::format(kStartAsRoot, kRootScript,
                     with_password ? fmt::format("-S -k -p \"{} \"", question) : std::string("-n"));
}

bool asks_for_password(std::string_view errors, std::string_view nonce) {
  return errors.find(fmt::format(kQuestion, nonce)) != std::string_view::npos;
}

}  // namespace railbed::fleet
