// Lists the fields of a struct once, for all code that iterates over them: JSON both ways (base/json.h),
// comparison, columns of a table.
//
//   struct Port {
//     int number = 0;
//     Reading<std::string> state;  // sysfs: state
//     FIELDS(Port, number, state);
//   };
//
// gives Port a static template fields(visitor), which calls visitor("number", &Port::number) and then
// visitor("state", &Port::state). Each field is named after its member. For a foreign format with other names
// ("startsAt"), write fields() by hand. At most 64 fields.
#pragma once

#define FIELDS(Type, ...)                                                                     \
  static void fields(auto&& field) { RAILBED_RESCAN(RAILBED_VISIT_FIELD(Type, __VA_ARGS__)) } \
  static_assert(true) /* takes the semicolon */

// The preprocessor does not expand a macro again within its own expansion. RAILBED_VISIT_FIELD therefore
// hides its name behind RAILBED_VISIT_NEXT, which expands one scan later, and RAILBED_RESCAN scans 64 times:
// one field per scan.
#define RAILBED_VISIT_FIELD(Type, name, ...) \
  field(#name, &Type::name);                 \
  __VA_OPT__(RAILBED_VISIT_NEXT RAILBED_PARENTHESES(Type, __VA_ARGS__))
#define RAILBED_VISIT_NEXT() RAILBED_VISIT_FIELD
#define RAILBED_PARENTHESES ()
#define RAILBED_RESCAN(...) \
  RAILBED_RESCAN_16(RAILBED_RESCAN_16(RAILBED_RESCAN_16(RAILBED_RESCAN_16(__VA_ARGS__))))
#define RAILBED_RESCAN_16(...) \
  RAILBED_RESCAN_4(RAILBED_RESCAN_4(RAILBED_RESCAN_4(RAILBED_RESCAN_4(__VA_ARGS__))))
#define RAILBED_RESCAN_4(...) \
  RAILBED_RESCAN_1(RAILBED_RESCAN_1(RAILBED_RESCAN_1(RAILBED_RESCAN_1(__VA_ARGS__))))
#define RAILBED_RESCAN_1(...) __VA_ARGS__
