#include "fleet/diagnose.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "fleet/frame.h"

namespace railbed::fleet {
namespace {

// A phrase, and what it means.
struct Symptom {
  std::string_view said;    // part of a line of stderr
  std::string_view reason;  // {0} is the ssh destination, {1} the file that the line names
  std::string_view remedy;
  bool passing = false;
  ErrorKind kind = ErrorKind::kUnavailable;
  std::string_view also = "";  // must occur as well
};

constexpr std::string_view kPasswordRefused = "sudo on {0} does not accept the password";
constexpr std::string_view kOtherPassword =
    "give the one of the user that ssh logs in as; an account may be locked after a few wrong ones";

// The phrases are those of sudo (plugins/sudoers/{auth/sudo_auth,check,logging,policy,sudoers}.c,
// src/{exec,sudo}.c of 1.9.13), OpenSSH (sshconnect.c, ssh.c, packet.c, clientloop.c, authfile.c of 9.2),
// srun (step_launch.c, slurm_errno.c of 22.05), kubectl and the API server (1.20 to 1.33), strerror(3) and
// ld.so. The first match wins, so more specific phrases come first.
constexpr Symptom kSymptoms[] = {
    {"incorrect password attempt", kPasswordRefused, kOtherPassword},
    {"sudo: a password is required", "sudo on {0} asks for a password",
     "give it with --ask-sudo-password (-K), or allow this user sudo without one (NOPASSWD, sudoers(5))"},
    {"you must have a tty to run sudo", "sudo on {0} wants a terminal, and we have none",
     "put `Defaults !requiretty` for this user into /etc/sudoers.d there"},
    {"is not in the sudoers file", "this user may not use sudo on {0}",
     "allow it to run /bin/sh as root there (sudoers(5)), or log in as root"},
    {"is not allowed to execute", "this user may not run /bin/sh as root on {0}",
     "allow it there (sudoers(5)), or log in as root"},
    {"may not run sudo on", "this user may not use sudo on {0}",
     "allow it to run /bin/sh as root there (sudoers(5)), or log in as root"},
    {"'nosuid' option set", "sudo on {0} is powerless", "mount its file system without nosuid"},
    {"effective uid is not 0", "sudo on {0} is powerless", "install it again, or mend its owner and mode"},
    {"must be owned by uid 0 and have the setuid bit", "sudo on {0} is powerless",
     "install it again, or mend its owner and mode"},
    {"no new privileges", "sudo on {0} is powerless in this session",
     "it runs in a container or under a unit with NoNewPrivileges; log in as root"},
    {"account validation failure", "sudo on {0} refuses this account",
     "it is locked or has expired; ask who keeps the accounts there"},
    {"Account expired", "sudo on {0} refuses this account",
     "it is locked or has expired; ask who keeps the accounts there"},
    {"Password expired", "the password of this user on {0} has expired", "log in there and set a new one"},
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", "the host key of {0} is not the one that known_hosts has",
     "find out why: `railbed hostkeys cluster.yaml` shows both; only if the machine was reinstalled, remove the old "
     "one with ssh-keygen -R"},
    {"Host key verification failed", "the host key of {0} is not known",
     "`railbed hostkeys cluster.yaml` shows it for comparing with the node's console, and adds it; `ssh {0}` "
     "asks about it, once"},
    {"Could not resolve hostname", "the name {0} does not resolve",
     "correct `ssh:` in cluster.yaml, or add the name to DNS, /etc/hosts or ~/.ssh/config"},
    {"Bad configuration option", "ssh refuses its configuration", "mend the file and line that ssh names"},
    {"Bad owner or permissions", "ssh refuses its configuration", "chmod 600 the file that ssh names"},
    {"Can't open user config file", "ssh cannot read its configuration",
     "correct `config:` below `ssh:` in cluster.yaml"},
    // Applies only if no other key was accepted.
    {"are too open.", "ssh ignores a private key that others may read, and {0} does not let us log in",
     "on this machine, run: chmod 600 {1}", false, ErrorKind::kUnavailable, "Permission denied ("},
    {"Too many authentication failures", "{0} refused our keys before the right one came",
     "name the key by IdentityFile and IdentitiesOnly=yes in ~/.ssh/config"},
    {"Permission denied (", "{0} does not let us log in",
     "add your public key to its authorized_keys (ssh-copy-id {0}), or load the key into ssh-agent"},
    {"Unable to negotiate with", "ssh and {0} have no algorithm in common",
     "update the older of the two, or allow the algorithm in ~/.ssh/config"},
    {"Connection timed out during banner exchange", "{0} accepted the connection and then said nothing",
     "its sshd or the whole machine hangs; look at its console", false, ErrorKind::kTimeout},
    {"Timeout, server", "{0} stopped answering", "the link or the machine died; look at its console", false,
     ErrorKind::kTimeout},
    {"kex_exchange_identification", "{0} closed the connection before greeting us",
     "its sshd (or the jump host's) is overloaded; raise MaxStartups there, or lower --parallel", true},
    {"Connection refused", "{0} refused the connection", "start sshd there, or correct the address or port"},
    {"No route to host", "there is no route to {0}",
     "check that it is powered, cabled and that the address is right"},
    {"Network is unreachable", "there is no route to {0}", "check the routes of this machine"},
    {"Connection timed out", "{0} did not answer", "check that it is powered, cabled and not firewalled",
     false, ErrorKind::kTimeout},
    {"Operation timed out", "{0} did not answer", "check that it is powered, cabled and not firewalled",
     false, ErrorKind::kTimeout},
    {"Connection reset by", "{0} reset the connection", "look at its sshd's log", true},
    {"create resource \"pods/exec\"", "you may not start programs in the pod that railbed has on {0}",
     "whoever runs the cluster has to bind you to the role railbed-agent, deploy/kubernetes/agent/role.yaml"},
    {"Error from server (Forbidden)", "the API server refuses to start an agent on {0}",
     "see who forbids it there: a role, or an admission policy"},
    {"error dialing backend", "the API server does not reach the kubelet of {0}",
     "look at the kubelet there, and at the machine's console"},
    {"container not found", "the container of the pod on {0} has just ended",
     "kubectl describe pod says why"},
    {"Error from server (NotFound)", "the pod on {0} has just gone", "another takes its place; try again"},
    {"exec failed", "the container runtime of {0} starts no shell in the pod",
     "its image must have /bin/sh: build it from deploy/kubernetes/Containerfile"},
    {"nable to connect to the server", "kubectl does not reach the API server, so not {0}",
     "see whether kubectl get pods does"},
    {"connection to the server", "kubectl does not reach the API server, so not {0}",
     "see whether kubectl get pods does"},
    {"Task launch for StepId", "Slurm could not start a step on {0}",
     "slurmd does not answer there: look at it, and at the machine's console"},
    {"Job step creation temporarily disabled", "Slurm starts no step on {0} now",
     "other steps of the job hold what it has there; end them"},
    {"Job/step already completing or completed", "the job that had {0} has ended", "take another one"},
    {"Node failure on", "Slurm gave {0} up", "it stopped answering slurmctld; look at its console"},
    {"version `GLIBC_", "its C library is older than this railbed needs",
     "use a distribution of 2021 or later (glibc 2.34), or an agent built for it: --agent-binary"},
    {"Exec format error", "it cannot run the agent it was given",
     "give one built for it: --agent-binary ARCH=PATH"},
    {"No space left on device", "no space left on its disks",
     "free some space in its home, /dev/shm or /tmp"},
    {"Disk quota exceeded", "its disk quota is exceeded", "free some space in its home"},
    {"This account is", "the account has no shell", "use one that may run commands"},
    {"closed by remote host", "{0} closed the connection",
     "it is going down, or its sshd ended; look at its console"},
    {"Broken pipe", "the connection to {0} broke", "look at its console"},
};

// The words that the script of root_start.cc prints; {0} is the rest of its line.
struct RootWord {
  std::string_view word;
  std::string_view text;
};
constexpr RootWord kRootWords[] = {
    {"no-sudo", "it has no sudo, and we are not root there: install sudo, or log in as root"},
    {"root-folder",
     "it has no safe place for what runs as root: only root may be able to change {0}; make it a directory of "
     "root's, mode 0755, no link"},
    {"root-differs",
     "the agent in the user's cache was changed after it was checked, so it was not run as root ({0}): find out "
     "who can write there, remove it, and try again"},
    {"root-noexec", "{0} may not be run: mount /opt without noexec"},
    {"root-failed",
     "root there could not keep the agent in /opt/railbed/bin ({0}): see to that, and try again"},
};

const Symptom* find_symptom(std::string_view said) {
  const auto found = std::find_if(std::begin(kSymptoms), std::end(kSymptoms), [&](const Symptom& symptom) {
    return said.find(symptom.said) != std::string_view::npos &&
           said.find(symptom.also) != std::string_view::npos;
  });
  return found == std::end(kSymptoms) ? nullptr : found;
}

// Returns the line with the symptom, because banners and warnings around it do not help.
std::string_view line_with(std::string_view text, std::string_view part) {
  for (const std::string_view line : lines(text))
    if (line.find(part) != std::string_view::npos) return line;
  return text;
}

// Returns the file name that the line quotes, quoted for a shell.
std::string quoted_file(std::string_view line) {
  const auto open = line.find('\''), close = line.rfind('\'');
  if (open == close) return "the file that ssh names";
  return shell_quote(quotable(line.substr(open + 1, close - open - 1)));
}

std::string fill_reason(std::string_view text, const Target& target) {
  return fmt::format(fmt::runtime(text), target.local ? "this machine" : target.destination);
}

// A remedy uses names only within commands.
std::string fill_remedy(std::string_view text, const Target& target, std::string_view line) {
  return fmt::format(fmt::runtime(text), shell_word(target.destination), quoted_file(line));
}

std::string quoted_words(const Sighting& sighting) {
  const std::string errors = quotable(sighting.errors);
  const std::string noise = quotable(sighting.noise);
  if (errors.empty() && noise.empty()) return "it said nothing";
  if (errors.empty() || noise.empty()) return fmt::format("it said \"{}\"", errors.empty() ? noise : errors);
  return fmt::format("it said \"{}\" and, on stderr, \"{}\"", noise, errors);
}

}  // namespace

Diagnosis diagnose(const Target& target, const Sighting& sighting) {
  const auto say = [&](ErrorKind kind, std::string text) {
    return at_node(target.name, {kind, std::move(text)});
  };
  if (const Symptom* symptom = find_symptom(sighting.errors)) {
    const std::string_view line = line_with(sighting.errors, symptom->said);
    return {say(symptom->kind, fmt::format("{}: {} (\"{}\")", fill_reason(symptom->reason, target),
                                           fill_remedy(symptom->remedy, target, line), quotable(line))),
            symptom->passing};
  }
  if (!sighting.exit_code) {
    const auto seconds = std::chrono::duration<double>(sighting.waited).count();
    return {say(ErrorKind::kTimeout, fmt::format("no answer within {:.3g} s while {}; {}", seconds,
                                                 sighting.doing, quoted_words(sighting)))};
  }
  // ssh exits with 255 if the connection failed, otherwise with the status of the remote command: ssh(1).
  const int code = *sighting.exit_code;
  const std::string_view hint = code == 126 || code == 127
                                    ? "; is its login shell a POSIX shell, and may its disks hold programs?"
                                    : "";
  return {say(ErrorKind::kUnavailable, fmt::format("ended with status {} while {}; {}{}", code,
                                                   sighting.doing, quoted_words(sighting), hint))};
}

std::string remedy_of(const Error& error, const Target& target) {
  // The message quotes the line by which the symptom was found, and only that line.
  const auto* const symptom = std::find_if(
      std::begin(kSymptoms), std::end(kSymptoms),
      [&](const Symptom& symptom) { return error.text.find(symptom.said) != std::string::npos; });
  if (symptom == std::end(kSymptoms)) return "";
  std::string sentence = fill_remedy(symptom->remedy, target, line_with(error.text, symptom->said));
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z')
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  return sentence + ".";
}

Error password_refused(const Target& target, std::string_view said) {
  return at_node(target.name, {ErrorKind::kUnavailable,
                               fmt::format("{}: {} (\"{}\")", fill_reason(kPasswordRefused, target),
                                           kOtherPassword, quotable(said))});
}

Error diagnose(const Target& target, const BootstrapLine& line, std::string_view own_architecture) {
  const auto say = [&](std::string text) {
    return at_node(target.name, {ErrorKind::kUnavailable, std::move(text)});
  };
  const std::string rest = quotable(line.rest);
  if (line.word == "architecture")
    return say(fmt::format("it is {}, this railbed is {}: give one built for it: --agent-binary {}=PATH",
                           rest, own_architecture, shell_word(rest)));
  for (const RootWord& root : kRootWords)
    if (line.word == root.word) return say(fmt::format(fmt::runtime(root.text), rest));
  const bool full =
      line.rest.find("No space left") != std::string::npos || line.rest.find("quota") != std::string::npos;
  const std::string_view reason = full
                                      ? "no space left for the agent: free some in its home, /dev/shm or /tmp"
                                      : "no directory there can hold the agent";
  if (line.word == "nowhere" || full) return say(fmt::format("{} ({})", reason, rest));
  return say("the agent could not be copied: " + rest);
}

}  // namespace railbed::fleet
