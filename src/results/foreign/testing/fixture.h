// The outputs of other tools in tests/foreign/.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/files.h"
#include "results/foreign/foreign.h"

namespace railbed {

inline std::string foreign_text(const std::string& name) {
  auto text = read_file(RAILBED_SOURCE_DIR "/tests/foreign/" + name);
  EXPECT_TRUE(text) << name;
  return text ? *std::move(text) : std::string();
}

// Returns what is read of a fixture; empty, after a failure, if it is refused.
inline ForeignRun foreign_run(const std::string& name) {
  auto read = parse_foreign(foreign_text(name));
  EXPECT_TRUE(read) << name << ": " << (read ? "" : read.error().text);
  return read ? *std::move(read) : ForeignRun();
}

}  // namespace railbed
