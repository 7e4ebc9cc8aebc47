// Entries for systemd's journal, by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram an
// entry. Nothing waits: where nobody listens, or too much waits there already, the entry is not sent and the
// caller is told.
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

// What is sent. A value with line breaks goes with its length, for the text form would end it there and take
// what follows for fields of their own.
std::string journal_entry(const std::vector<JournalField>& fields);

class SystemJournal {
 public:
  explicit SystemJournal(std::string path = "/run/systemd/journal/socket") : path_(std::move(path)) {}

  // Values that are too long for a datagram are cut.
  Result<void> send(std::vector<JournalField> fields);

 private:
  std::string path_;
  Fd socket_;
};

}  // namespace railbed
