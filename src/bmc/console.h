// A node's serial console over the network (IPMI's serial-over-LAN), carried by ipmitool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bmc/bmc.h"
#include "os/child.h"

namespace railbed {

// A session with the console of one node. A BMC has one such session at a time.
class Console {
 public:
  // Starts connecting and does not wait. `cipher` is the suite that the BMC accepts (Bmc::cipher()). Fails if
  // ipmitool cannot be started.
  static Result<Console> open(const BmcTarget& target, int cipher);

  // Descriptors for poll(2): the node's text, and ipmitool's messages.
  int out() const { return program_.out.get(); }
  int err() const { return program_.err.get(); }
  // Returns the node's text since the last call; empty until the session is open. Call it when either
  // descriptor is readable.
  std::string read();
  bool is_open() const { return open_; }
  bool has_ended() const { return ended_; }
  // Returns why the session ended: another session has the console, the BMC refuses, or the connection broke.
  Error why_ended() const;
  // True if ipmitool reported that another session has the console.
  bool is_taken() const;

  // Sends keys to the node. Keys that the BMC does not accept at once are lost.
  void type(std::string_view keys);
  void send_break();
  // Ends the session, within some seconds. A BMC keeps a session that merely falls silent for a minute, and
  // refuses others until then.
  void leave();

 private:
  Console(Program program, BmcTarget target, int cipher)
      : program_(std::move(program)), target_(std::move(target)), cipher_(cipher) {}

  Program program_;
  BmcTarget target_;
  int cipher_;
  std::string greeting_;  // text before the session is open
  std::string said_;      // ipmitool's stderr
  bool open_ = false;
  bool ended_ = false;
};

// Finds the cipher suite that the BMC accepts, ends another session first if `steal` is set, and starts
// connecting.
Result<Console> attach_console(const BmcTarget& target, const BmcOptions& options, bool steal);

// Ends the BMC's console session, whoever opened it, and waits for that. Succeeds if there is none.
Result<void> end_console(const BmcTarget& target, int cipher, std::chrono::milliseconds deadline,
                         std::stop_token stop);

// Separates escapes from the keys that a person types. As in ssh, "~" at the beginning of a line escapes:
// "~." leaves, "~B" sends a break, "~?" shows help, "~~" types one "~". The state is kept between calls.
class ConsoleKeys {
 public:
  enum class Wish { kType, kBreak, kHelp, kLeave };
  struct Step {
    Wish wish = Wish::kType;
    std::string keys = {};  // for kType
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> feed(std::string_view typed);

 private:
  bool line_begins_ = true;
  bool escaped_ = false;
};

}  // namespace railbed
