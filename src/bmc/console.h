// A node's serial console over the network (IPMI's serial-over-LAN), carried by ipmitool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bmc/bmc.h"
#include "host/child.h"

namespace railbed {

// A session of one BMC; a BMC has one at a time.
class Console {
 public:
  // Starts connecting. `cipher`: the suite that the BMC takes (Bmc::cipher()).
  static Result<Console> open(const BmcTarget& target, int cipher);

  // For poll(2): text of the node, and what ipmitool says.
  int out() const { return program_.out.get(); }
  int err() const { return program_.err.get(); }
  // What came from the node since the last call; call it when either is readable.
  std::string read();
  bool is_open() const { return open_; }
  bool has_ended() const { return ended_; }
  // Why it ended: another has the console, the BMC refuses, or it broke off.
  Error why_ended() const;
  // Somebody else is attached.
  bool is_taken() const;

  void type(std::string_view keys);
  void send_break();
  // Ends the session, within some seconds: a BMC keeps one that merely falls silent for a minute, and refuses
  // others.
  void leave();

 private:
  Console(Program program, BmcTarget target, int cipher)
      : program_(std::move(program)), target_(std::move(target)), cipher_(cipher) {}

  Program program_;
  BmcTarget target_;
  int cipher_;
  std::string greeting_;  // until the session is open
  std::string said_;      // on stderr
  bool open_ = false;
  bool ended_ = false;
};

// Asks the BMC which suite it takes, ends the session of whoever is attached where that is wished, and starts
// connecting.
Result<Console> attach_console(const BmcTarget& target, const BmcOptions& options, bool steal);

// Ends whatever session the BMC has, and waits until it is so.
Result<void> end_console(const BmcTarget& target, int cipher, std::chrono::milliseconds deadline,
                         std::stop_token stop);

// What a person's keys mean: "~" at the beginning of a line escapes, as in ssh.
class ConsoleKeys {
 public:
  enum class Wish { kType, kBreak, kHelp, kLeave };
  struct Step {
    Wish wish = Wish::kType;
    std::string keys = {};  // of kType
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> feed(std::string_view typed);

 private:
  bool line_begins_ = true;
  bool escaped_ = false;
};

}  // namespace railbed
