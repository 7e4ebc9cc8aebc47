// Entries for systemd's journal, by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram
// per entry. Sending never blocks: if journald does not run, or its queue is full, the entry is not sent and
// the caller receives an error.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

struct JournalField {
  std::string name;  // capital letters, digits, underscores: MESSAGE
  std::string value;
};

// Returns the datagram. A value with line breaks is sent in the binary form with its length; in the text form
// the value would end at the first break, and its other lines would become fields.
std::string journal_entry(const std::vector<JournalField>& fields);

class SystemJournal {
 public:
  explicit SystemJournal(std::string path = "/run/systemd/journal/socket") : path_(std::move(path)) {}

  // Sends one entry. Values too long for a datagram are cut at 8 KiB, then shorter until the datagram fits.
  Result<void> send(std::vector<JournalField> fields);

 private:
  std::string path_;
  Fd socket_;
};

}  // namespace railbed
