// The JSON documents that railbed prints. Each begins with its format and version, and has a JSON Schema (draft 2020-12) that
// follows from the same lists of fields (base/fields.h) as the document itself.
//
// In a schema a struct is described once, below "$defs", by its name, and an enumeration by its words. All fields are required, because
// encode() leaves none out. A number may be null: JSON has no infinity.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <typeindex>

#include "base/json.h"

namespace railbed::json {

// Collects the definitions of one schema.
class SchemaWriter {
 public:
  // Returns the schema of a T, in which structs are references to definitions().
  template <class T>
  Value of();
  Value definitions() const;

 private:
  // Describes a member of a struct; a function for each type, shared by all structs that have such a member.
  using Describe = Value (*)(SchemaWriter&);
  struct Fields {
    SchemaWriter& writer;
    Value properties = detail::new_object();
    Value required = detail::new_array();
    void add(std::string_view name, Describe describe);
  };
  template <class T>
  static Value describe(SchemaWriter& writer) {
    return writer.of<T>();
  }
  // Returns the reference to a struct; begins its definition if `known` becomes false.
  Value reference_to(const std::type_info& type, bool& known);
  void define(const std::type_info& type, Fields&& fields);

  std::map<std::type_index, std::string> names_;
  std::map<std::string, Value> definitions_;
};

namespace detail {

Value schema_type(std::string_view type);
Value schema_count();  // an integer from 0
Value schema_or_null(Value schema);
Value schema_in(std::string_view unit, Value schema);
Value schema_list(Value items);
Value schema_map(Value values);
Value schema_words(const std::string_view* words, std::size_t count);
Value schema_reading(Value value, Value missing);

}  // namespace detail

// Returns the schema of a document: its head, whose members are "format" and "version", and the fields of a T. If T is a list,
// its elements are the member `list`.
Value finish_schema(std::string_view format, int version, std::string_view list, Value schema,
                    const SchemaWriter& writer);
template <class T>
Value document_schema(std::string_view format, int version, std::string_view list) {
  SchemaWriter writer;
  Value schema = writer.of<T>();
  return finish_schema(format, version, list, std::move(schema), writer);
}

template <class T>
Value SchemaWriter::of() {
  using namespace detail;
  if constexpr (std::same_as<T, Value>) {
    return new_object();  // anything
  } else if constexpr (std::same_as<T, bool>) {
    return schema_type("boolean");
  } else if constexpr (std::same_as<T, ByteCount>) {
    return schema_in("bytes", schema_count());
  } else if constexpr (std::same_as<T, BitRate>) {
    return schema_in("bit/s", schema_or_null(schema_type("number")));
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    return schema_in("ns", schema_or_null(schema_type("number")));
  } else if constexpr (std::unsigned_integral<T>) {
    return schema_count();
  } else if constexpr (std::integral<T>) {
    return schema_type("integer");
  } else if constexpr (std::floating_point<T>) {
    return schema_or_null(schema_type("number"));
  } else if constexpr (std::convertible_to<const T&, std::string_view> || std::same_as<T, Lines>) {
    return schema_type("string");
  } else if constexpr (kIsOptional<T>) {
    return schema_or_null(of<typename T::value_type>());
  } else if constexpr (kIsMap<T>) {
    return schema_map(of<typename T::mapped_type>());
  } else if constexpr (std::ranges::input_range<const T>) {
    return schema_list(of<std::remove_cvref_t<std::ranges::range_value_t<const T>>>());
  } else if constexpr (kIsReading<T>) {
    return schema_reading(of<typename T::Value>(), of<Missing>());
  } else if constexpr (NamedEnum<T>) {
    static constexpr auto words = enum_names(T{});
    return schema_words(words.data(), words.size());
  } else if constexpr (Textual<T>) {
    return schema_type("string");
  } else {
    static_assert(Record<T>, "list the fields of the struct: FIELDS(), base/fields.h");
    bool known = false;
    Value reference = reference_to(typeid(T), known);
    if (known) return reference;
    Fields fields{*this};
    T::fields([&](std::string_view name, auto member) {
      using Member = std::remove_cvref_t<decltype(std::declval<T&>().*member)>;
      fields.add(name, describe<Member>);
    });
    define(typeid(T), std::move(fields));
    return reference;
  }
}

}  // namespace railbed::json

namespace railbed {

// A kind of document: the fields of a T behind the head.
template <class T>
struct Document {
  std::string_view format;     // "railbed-burn"
  int version = 1;             // grows when a field changes its meaning or goes away
  std::string_view list = {};  // the member that holds the elements, if T is a list
};

json::Value with_head(std::string_view format, int version, std::string_view list, json::Value fields);
// Returns the text of a document. The head takes the place of members of the same names, which a T has that is also a file.
template <class T>
std::string document_text(const Document<T>& document, const T& value) {
  return json::dump_pretty(with_head(document.format, document.version, document.list, json::encode(value)));
}

}  // namespace railbed
