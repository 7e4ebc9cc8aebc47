// Tables for messages that no symptom matches: the program that prints lines of that form, the call in it, and the error
// that the call returned. They decide no cause and lead to where more is written.
#pragma once

#include <span>
#include <string_view>

namespace railbed::diagnose {

// A form of line that one program prints.
struct Origin {
  std::string_view words;  // two bytes or more; the first row of the table that the line has decides
  std::string_view name;   // "mlx5_core, the kernel's driver of ConnectX adapters"
  std::string_view look;   // where that program writes more
};

// A call that a message names.
struct NamedCall {
  std::string_view name;  // as the message has it; the longest name in the line decides
  std::string_view does;  // after the name: "registers memory with an RDMA adapter"
  std::string_view look;  // empty: the program's
};

// The text of an error code.
struct ErrorText {
  std::string_view text;
  std::string_view means;  // "ENOMEM: …": the meaning of that code, not its reason
};

std::span<const Origin> origins();
std::span<const NamedCall> named_calls();
std::span<const ErrorText> error_texts();

}  // namespace railbed::diagnose
