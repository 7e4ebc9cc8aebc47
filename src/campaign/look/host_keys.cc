#include "campaign/look/host_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wording.h"
#include "campaign/look/ssh_way.h"
#include "fleet/frame.h"
#include "os/process.h"

// The keys come from ssh-keyscan, the entries of known_hosts from `ssh-keygen -F`, and both names and files
// from `ssh -G`, so that they are what this user's ssh would use. judge_keys() gives each offered key a
// state:
// * revoked: known_hosts has it as revoked.
// * known: known_hosts has this very key.
// * new: known_hosts has no trusted key of this node.
// * further: known_hosts has another type of key only, and the node offers one of those keys.
// * changed: known_hosts has another key of this type, or none of the keys that it has is offered.
//
// Only new keys are ever added.
namespace railbed {
namespace {

constexpr std::chrono::seconds kLocalDeadline{10};  // for programs without network access
constexpr std::chrono::seconds kScanMargin{5};      // ssh-keyscan ends by itself before that
constexpr std::size_t kMostExpected = 100'000;

std::string first_words(std::string_view text) {
  for (const auto line : lines(text))
    if (!trim(line).empty() && !line.starts_with('#')) return fleet::quotable(trim(line));
  return "";
}

Result<CommandOutput> ended_with(const Reading<CommandOutput>& output, int most, const std::string& program) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", program, why));
  };
  if (!output) return refuse(output.miss().why);
  if (output->exit_code > most) {
    const std::string said = first_words(output->error_output);
    return refuse(said.empty() ? fmt::format("it ended with {}", output->exit_code) : said);
  }
  return *output;
}

// Reads and judges the host keys of one node. Its methods are const: several threads use one object.
class Asking {
 public:
  Asking(const ReachOptions& reach, const ExpectedKeys* expected, std::stop_token stop)
      : reach_(reach), expected_(expected), stop_(std::move(stop)) {}

  NodeHostKeys ask(const Node& node) const {
    NodeHostKeys asked{.node = node.name};
    if (node.local) {
      asked.note = "it is this machine, and no ssh leads to it";
      return asked;
    }
    if (const auto done = ask(node, asked); !done) asked.error = done.error().text;
    return asked;
  }

 private:
  Result<void> ask(const Node& node, NodeHostKeys& asked) const {
    if (stop_.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted");
    ASSIGN_OR_RETURN(const auto way, ssh_way(reach_, node.ssh, stop_));
    asked.name = way.known_name();
    asked.files = way.user_files;
    asked.hashed = way.hashed;
    if (way.unchecked)
      asked.note =
          "your configuration of ssh switches the check of host keys off for it (StrictHostKeyChecking): anybody "
          "on the way may be this node";
    if (!way.proxy.empty())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("it is reached by {}, through which nobody can ask for keys: run `{}` once and "
                              "compare what it shows, or run this on the jump host",
                              fleet::quotable(way.proxy), command("ssh {}", node.ssh).text()));
    ASSIGN_OR_RETURN(const auto offered, scan(way));
    ASSIGN_OR_RETURN(const auto known, look_up(way));
    asked.keys = judge_keys(offered, known, expected_of(node.name));
    return {};
  }

  const std::vector<ExpectedKey>* expected_of(const std::string& node) const {
    static const std::vector<ExpectedKey> kNone;
    if (expected_ == nullptr) return nullptr;
    const auto found = expected_->find(node);
    return found == expected_->end() ? &kNone : &found->second;
  }

  Result<std::vector<PublicKey>> scan(const fleet::SshWay& way) const {
    const auto patience = std::chrono::ceil<std::chrono::seconds>(reach_.connect_deadline);
    const auto said = run_program({"ssh-keyscan", "-T", std::to_string(patience.count()), "-p",
                                   std::to_string(way.port), "-t", "ed25519,ecdsa,rsa", "--", way.host},
                                  2 * patience + kScanMargin, stop_);
    const std::string place = fmt::format("{} port {}", way.host, way.port);
    if (!said)
      return fail(ErrorKind::kUnavailable, fmt::format("ssh-keyscan of {}: {}", place, said.miss().why));
    auto keys = fleet::parse_scan(said->output, way);
    if (!keys) return fail(keys.error(), place);
    if (!keys->empty()) return keys;
    const std::string why = first_words(said->error_output);
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("no host key came from {} ({})", place,
                    why.empty() ? fmt::format("nothing was said within {} s", patience.count()) : why));
  }

  Result<std::vector<fleet::FoundKey>> look_up(const fleet::SshWay& way) const {
    std::vector<fleet::FoundKey> found;
    auto files = way.user_files;
    files.insert(files.end(), way.global_files.begin(), way.global_files.end());
    for (const std::string& file : files) {
      if (access(file.c_str(), F_OK) != 0) continue;
      // Exit code 1: the file has no such entry.
      const auto said =
          ended_with(run_program({"ssh-keygen", "-F", way.known_name(), "-f", file}, kLocalDeadline, stop_),
                     1, "ssh-keygen -F");
      if (!said) return fail(said.error());
      for (fleet::FoundKey& key : fleet::parse_found(said->output)) found.push_back(std::move(key));
    }
    return found;
  }

  const ReachOptions& reach_;
  const ExpectedKeys* expected_;
  std::stop_token stop_;
};

HostKeyState state_of(const PublicKey& key, const std::vector<fleet::FoundKey>& known, bool acquainted) {
  const auto is = [&](const fleet::FoundKey& found_key) { return found_key.key == key; };
  if (std::ranges::any_of(known, [&](const fleet::FoundKey& key) { return is(key) && key.revoked; }))
    return HostKeyState::kRevoked;
  if (std::ranges::any_of(known, is)) return HostKeyState::kKnown;
  const auto trusted = [](const fleet::FoundKey& key) { return !key.revoked; };
  if (std::ranges::none_of(known, trusted)) return HostKeyState::kNew;
  const bool of_kind = std::ranges::any_of(known, [&](const fleet::FoundKey& found_key) {
    return trusted(found_key) && found_key.key.type == key.type;
  });
  return of_kind || !acquainted ? HostKeyState::kChanged : HostKeyState::kFurther;
}

// Returns the fingerprint of a trusted known key, of the same type if there is one.
std::string known_instead(const PublicKey& key, const std::vector<fleet::FoundKey>& known) {
  std::string any;
  for (const fleet::FoundKey& found_key : known) {
    if (found_key.revoked) continue;
    if (found_key.key.type == key.type) return fingerprint_of(found_key.key);
    any = fingerprint_of(found_key.key);
  }
  return any;
}

// Returns whether the key is as expected; nothing if no expectation covers such a key. `one_fits`: another
// offered key has an expected fingerprint, so a key without an expectation of its type is no contradiction.
std::optional<bool> as_expected(const OfferedKey& key, const std::vector<ExpectedKey>& expected,
                                bool one_fits) {
  if (expected.empty()) return std::nullopt;
  if (std::ranges::find(expected, key.fingerprint, &ExpectedKey::fingerprint) != expected.end()) return true;
  const bool other = std::ranges::find(expected, key.key.type, &ExpectedKey::type) != expected.end();
  if (other || !one_fits) return false;
  return std::nullopt;
}

bool is_to_add(const OfferedKey& key, bool only_expected) {
  return key.state == HostKeyState::kNew && (!only_expected || key.expected == true);
}

// A temporary folder that only this user can enter; the destructor removes it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "railbed-keys-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the lines with their names hashed by ssh-keygen. It works on a copy with the new lines alone,
// because ssh-keygen would hash all lines of a file.
Result<std::string> hashed_lines(const std::string& plain) {
  const ScratchFolder folder;
  if (folder.path().empty()) return fail(ErrorKind::kUnavailable, "there is no room for a file in /tmp");
  const std::string file = folder.path() + "/known_hosts";
  RETURN_IF_ERROR(write_file(file, plain, 0600));
  const auto done =
      ended_with(run_program({"ssh-keygen", "-q", "-H", "-f", file}, kLocalDeadline), 0, "ssh-keygen -H");
  if (!done) return fail(done.error());
  auto text = read_file(file);
  if (text && lines(*text).size() != lines(plain).size())
    return fail(ErrorKind::kUnavailable, "ssh-keygen -H did not hash the names");
  return text;
}

// Rewrites the file with `more` at its end and keeps its mode. Creates the file (mode 0600) and its folder
// (0700) if they are missing.
Result<void> append_to(const std::string& file, const std::string& more) {
  std::error_code error;
  std::string text;
  unsigned mode = 0600;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
    ASSIGN_OR_RETURN(auto read, read_file(file));
    text = std::move(read);
    struct stat about = {};
    if (stat(file.c_str(), &about) == 0) mode = about.st_mode & 0777;
    if (!text.empty() && text.back() != '\n') text += '\n';
  } else if (const std::string folder = std::filesystem::path(file).parent_path(); !folder.empty()) {
    if (auto made = make_folder(folder, 0700); !made) return made;
  }
  return write_file(file, text + more, mode);
}

struct NewLines {
  std::string plain;
  std::string to_hash;
};

Result<void> write_lines(const std::string& file, const NewLines& lines) {
  std::string text = lines.plain;
  if (!lines.to_hash.empty()) {
    ASSIGN_OR_RETURN(const auto hashed, hashed_lines(lines.to_hash));
    text += hashed;
  }
  return append_to(file, text);
}

Result<ExpectedKey> expected_in(const std::vector<std::string_view>& columns) {
  if (columns.size() >= 2 && is_fingerprint(columns[1])) return ExpectedKey{std::string(columns[1]), ""};
  if (columns.size() >= 3)
    if (const auto key = PublicKey::parse(fmt::format("{} {}", columns[1], columns[2])))
      return ExpectedKey{fingerprint_of(*key), key->type};
  return fail(ErrorKind::kBadInput, "expected \"NODE SHA256:…\" or \"NODE ssh-ed25519 AAAA…\"");
}

}  // namespace

bool NodeHostKeys::is_suspect() const {
  return std::ranges::any_of(keys, [](const OfferedKey& key) {
    return key.state == HostKeyState::kChanged || key.state == HostKeyState::kRevoked ||
           key.expected == false;
  });
}

bool NodeHostKeys::is_new() const {
  return !keys.empty() && std::ranges::none_of(keys, [](const OfferedKey& key) {
    return key.added || key.state == HostKeyState::kKnown;
  });
}

bool ClusterHostKeys::is_suspect() const { return std::ranges::any_of(nodes, &NodeHostKeys::is_suspect); }

int ClusterHostKeys::exit_code() const {
  if (is_suspect()) return kExitFailures;
  if (std::ranges::any_of(nodes, [](const NodeHostKeys& keys) { return !keys.error.empty(); }))
    return kExitCouldNotLook;
  return std::ranges::any_of(nodes, &NodeHostKeys::is_new) ? kExitWarnings : kExitClean;
}

Result<ExpectedKeys> parse_expected_keys(std::string_view text, std::string_view file,
                                         const Cluster& cluster) {
  ExpectedKeys all;
  std::size_t number = 0;
  for (const auto line : lines(text)) {
    ++number;
    const auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorKind::kBadInput, fmt::format("{}:{}: {}", file, number, why));
    };
    if (number > kMostExpected) return refuse("there are too many lines");
    const auto key = expected_in(columns);
    if (!key) return refuse(key.error().text);
    if (find_node(cluster, columns[0]) == nullptr)
      return refuse(fmt::format("{} knows no node \"{}\"", cluster.file, printable(columns[0])));
    all[std::string(columns[0])].push_back(*key);
  }
  return all;
}

std::vector<OfferedKey> judge_keys(const std::vector<PublicKey>& offered,
                                   const std::vector<fleet::FoundKey>& known,
                                   const std::vector<ExpectedKey>* expected) {
  const bool acquainted = std::ranges::any_of(offered, [&](const PublicKey& key) {
    return std::ranges::any_of(
        known, [&](const fleet::FoundKey& found_key) { return found_key.key == key && !found_key.revoked; });
  });
  std::vector<OfferedKey> keys;
  for (const PublicKey& key : offered) {
    OfferedKey offered_key{
        .key = key, .fingerprint = fingerprint_of(key), .state = state_of(key, known, acquainted)};
    if (offered_key.state == HostKeyState::kChanged) offered_key.instead_of = known_instead(key, known);
    keys.push_back(std::move(offered_key));
  }
  if (expected == nullptr) return keys;
  const bool one_fits = std::ranges::any_of(keys, [&](const OfferedKey& key) {
    return std::ranges::find(*expected, key.fingerprint, &ExpectedKey::fingerprint) != expected->end();
  });
  for (OfferedKey& key : keys) key.expected = as_expected(key, *expected, one_fits);
  return keys;
}

ClusterHostKeys look_at_host_keys(const Cluster& cluster, const Names& names, const ExpectedKeys* expected,
                                  const ReachOptions& reach, const Caller& caller) {
  std::vector<const Node*> nodes;
  for (const Node& node : cluster.nodes)
    if (names.contains(node.name)) nodes.push_back(&node);
  ClusterHostKeys look{.cluster = cluster.name};
  look.nodes.resize(nodes.size());
  const Asking asking(reach, expected, caller.stop);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) {
      look.nodes[i] = asking.ask(*nodes[i]);
      const std::lock_guard lock(mutex);
      caller.progress(fmt::format("asking for host keys: {}/{}", ++done, counted(nodes.size(), "node")));
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < std::min(std::max<std::size_t>(1, reach.parallelism), nodes.size()); ++i)
    workers.emplace_back(work);
  workers.clear();  // joins
  caller.progress("");
  return look;
}

std::size_t count_to_add(const ClusterHostKeys& look, bool as_expected) {
  std::size_t count = 0;
  for (const NodeHostKeys& node : look.nodes)
    count += static_cast<std::size_t>(
        std::ranges::count_if(node.keys, [&](const OfferedKey& key) { return is_to_add(key, as_expected); }));
  return count;
}

Result<void> add_host_keys(ClusterHostKeys& look, bool as_expected) {
  if (look.is_suspect())
    return fail(ErrorKind::kUnavailable, "a key is not the one that it should be: nothing was written");
  std::map<std::string, NewLines> files;
  for (const NodeHostKeys& node : look.nodes)
    for (const OfferedKey& key : node.keys) {
      if (!is_to_add(key, as_expected)) continue;
      if (node.files.empty())
        return fail(
            ErrorKind::kUnavailable,
            fmt::format(
                "{}: your configuration of ssh names no UserKnownHostsFile for it: nothing was written",
                node.node));
      NewLines& lines = files[node.files.front()];
      (node.hashed ? lines.to_hash : lines.plain) += fmt::format("{} {}\n", node.name, key.key.to_text());
    }
  for (const auto& [file, lines] : files) {
    if (const auto written = write_lines(file, lines); !written) return written;
    for (NodeHostKeys& node : look.nodes)
      if (!node.files.empty() && node.files.front() == file)
        for (OfferedKey& key : node.keys) key.added = is_to_add(key, as_expected);
  }
  return {};
}

}  // namespace railbed
