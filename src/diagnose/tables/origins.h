// What is known of a message beyond the tables of symptoms: the program that prints lines of its form, the call that it
// names, and the error that the call returned. It decides no cause; it tells where to look.
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
  std::string_view name;  // as it stands in the message; the longest of those in the line decides
  std::string_view does;  // after the name: "registers memory with an RDMA adapter"
  std::string_view look;  // empty: the program's
};

// The text of an error code.
struct ErrorText {
  std::string_view text;
  std::string_view means;  // "ENOMEM: …"; what that code stands for, not why it came
};

std::span<const Origin> origins();
std::span<const NamedCall> named_calls();
std::span<const ErrorText> error_texts();

}  // namespace railbed::diagnose
