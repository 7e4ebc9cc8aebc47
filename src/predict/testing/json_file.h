// Reads a file of measurements under tests/.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"

namespace railbed {

// Returns nothing, and fails the test, if the file cannot be read.
template <typename T>
T read_json_file(const std::string& path) {
  std::ifstream file(RAILBED_SOURCE_DIR "/tests/" + path);
  std::stringstream text;
  text << file.rdbuf();
  auto read = json::read<T>(text.str());
  if (!read) ADD_FAILURE() << path << ": " << read.error().text;
  return read ? std::move(*read) : T{};
}

}  // namespace railbed
