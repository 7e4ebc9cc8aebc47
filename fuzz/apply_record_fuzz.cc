// A record of an apply may be damaged, or forged by who could write to its folder: it is opened or refused,
// shown, gone on with and rolled back, and whatever it says, nothing outside of /etc changes, no file gets a
// special mode, and no shell is started.
//
// The files of the record are divided by NUL: journal, state, decision, why, log.
//
// Rooms: apply
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apply/node_apply.h"
#include "apply/transaction.h"
#include "apply/writable_host.h"
#include "base/json.h"
#include "fuzz/require.h"
#include "fuzz/scratch.h"

using namespace railbed;

namespace {

constexpr const char* kId = "20260101T000000Z-0001";
constexpr std::array<std::string_view, 5> kFiles{"journal", "state", "decision", "why", "log"};

// A machine in a folder of the scratch folder, so that what leaves the machine is seen beside it.
class Machine {
 public:
  Machine() : scratch_("machine") {
    std::filesystem::remove_all(scratch_.path());
    for (const char* folder : {"/etc/sysctl.d", "/etc/netplan", "/live", "/usr/bin"})
      std::filesystem::create_directories(scratch_.path() + folder);
    put("/etc/sysctl.d/10.conf", "a = 1\n");
    put("/usr/bin/tool", "tool\n");
    std::filesystem::create_directories(record());
    std::filesystem::permissions(scratch_.path() + "/var/lib/railbed/apply",
                                 std::filesystem::perms::owner_all);
    std::filesystem::permissions(record(), std::filesystem::perms::owner_all);
    before_ = outside();
  }
  void keep(std::string_view text) const {
    for (const std::string_view name : kFiles) {
      const auto end = std::min(text.find('\0'), text.size());
      const std::string path = record() + "/" + std::string(name);
      std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(end));
      std::filesystem::permissions(path,
                                   std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  WritableHost host() {
    return WritableHost(scratch_.path(),
                        [](const std::vector<std::string>& words, auto) -> Reading<CommandOutput> {
                          require(!words.empty() && words[0].find('/') == std::string::npos &&
                                  words[0] != "sh" && words[0] != "bash" && words[0] != "env");
                          return {CommandOutput{0, "", ""}, words[0]};
                        });
  }
  void check() const {
    require(outside() == before_);
    for (const auto& one : std::filesystem::recursive_directory_iterator(scratch_.path() + "/etc"))
      require((one.symlink_status().permissions() & std::filesystem::perms::set_uid) ==
              std::filesystem::perms::none);
  }

 private:
  void put(const std::string& path, std::string_view text) const {
    std::ofstream(scratch_.path() + path) << text;
  }
  std::string record() const { return scratch_.path() + "/var/lib/railbed/apply/" + kId; }
  // All that is there but for /etc and for railbed's own records.
  std::set<std::string> outside() const {
    std::set<std::string> all;
    const std::string etc = scratch_.path() + "/etc";
    const std::string own = scratch_.path() + "/var/lib/railbed";
    for (const auto& one : std::filesystem::recursive_directory_iterator(scratch_.folder()))
      if (const std::string path = one.path(); !path.starts_with(etc + "/") && !path.starts_with(own + "/"))
        all.insert(path);
    return all;
  }

  Scratch scratch_;
  std::set<std::string> before_;
};

void carry_out(WritableHost& host) {
  auto record = Transaction::open(host, kId);
  if (!record) return require_printable(record.error().text);
  (void)record->why();
  (void)record->log();
  if (record->state() == ApplyState::kStaged) (void)record->switch_over();
  (void)record->decide(Decision::kRevert);
  for (const bool booting : {true, false})
    if (const auto done = record->finish(booting); !done) require_printable(done.error().text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  Machine machine;
  machine.keep(text);
  WritableHost host = machine.host();
  (void)apply_history(host);
  RollbackRequest back;
  back.id = "20260102T000000Z-0002";
  back.target = kId;
  (void)stage_rollback(host, back);
  carry_out(host);
  machine.check();
  return 0;
}
