#include "base/document.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace railbed::json {

using namespace detail;

namespace {

// Returns "Port" for railbed::rdma::(anonymous namespace)::Port.
std::string plain_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> whole(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? whole.get() : type.name();
  name = name.substr(0, name.find('<'));
  if (const auto colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name;
}

Value with(std::string_view key, Value member) {
  Value object = new_object(1);
  append_member(object, key, std::move(member));
  return object;
}

Value schema_object(Value properties, Value required) {
  Value schema = schema_type("object");
  append_member(schema, "properties", std::move(properties));
  append_member(schema, "required", std::move(required));
  return schema;
}

}  // namespace

Value SchemaWriter::reference_to(const std::type_info& type, bool& known) {
  auto [at, is_new] = names_.try_emplace(type);
  known = !is_new;
  if (is_new) {
    const std::string name = plain_name(type);
    const auto taken = [&](const std::string& word) {
      return std::ranges::any_of(names_, [&](const auto& one) { return one.second == word; });
    };
    std::string free = name;
    for (int number = 2; taken(free); ++number) free = name + std::to_string(number);
    at->second = std::move(free);
  }
  return with("$ref", from_text("#/$defs/" + at->second));
}

void SchemaWriter::define(const std::type_info& type, Fields&& fields) {
  definitions_[names_.at(type)] = schema_object(std::move(fields.properties), std::move(fields.required));
}

Value SchemaWriter::definitions() const { return encode(definitions_); }

void SchemaWriter::Fields::add(std::string_view name, Describe describe) {
  append_member(properties, name, describe(writer));
  append(required, from_text(name));
}

namespace detail {

Value schema_type(std::string_view type) { return with("type", from_text(type)); }

Value schema_count() {
  Value schema = schema_type("integer");
  append_member(schema, "minimum", from_unsigned(0));
  return schema;
}

Value schema_or_null(Value schema) {
  if (size_of(schema) == 0) return schema;  // anything
  Value either = new_array();
  append(either, std::move(schema));
  append(either, schema_type("null"));
  return with("anyOf", std::move(either));
}

Value schema_in(std::string_view unit, Value schema) {
  append_member(schema, "description", from_text(unit));
  return schema;
}

Value schema_list(Value items) {
  Value schema = schema_type("array");
  append_member(schema, "items", std::move(items));
  return schema;
}

Value schema_map(Value values) {
  Value schema = schema_type("object");
  append_member(schema, "additionalProperties", std::move(values));
  return schema;
}

Value schema_words(const std::string_view* words, std::size_t count) {
  Value all = new_array();
  for (std::size_t i = 0; i < count; ++i) append(all, from_text(words[i]));
  return with("enum", std::move(all));
}

Value schema_reading(Value value, Value missing) {
  const auto object = [](std::vector<std::pair<std::string_view, Value>> members) {
    Value properties = new_object();
    Value required = new_array();
    for (auto& [name, schema] : members) {
      append_member(properties, name, std::move(schema));
      append(required, from_text(name));
    }
    return schema_object(std::move(properties), std::move(required));
  };
  Value either = new_array();
  append(either, object({{"value", std::move(value)}, {"from", schema_type("string")}}));
  append(either, object({{"missing", std::move(missing)},
                         {"why", schema_type("string")},
                         {"from", schema_type("string")}}));
  return with("anyOf", std::move(either));
}

}  // namespace detail

Value finish_schema(std::string_view format, int version, std::string_view list, Value schema,
                    const SchemaWriter& writer) {
  Value head = new_object();
  append_member(head, "format", with("const", from_text(format)));
  append_member(head, "version", with("const", from_signed(version)));
  Value required = new_array();
  append(required, from_text("format"));
  append(required, from_text("version"));
  if (!list.empty()) {
    append_member(head, list, std::move(schema));
    append(required, from_text(list));
  }
  Value document = new_object();
  append_member(document, "$schema", from_text("https://json-schema.org/draft/2020-12/schema"));
  append_member(document, "title", from_text(format));
  append_member(document, "type", from_text("object"));
  append_member(document, "properties", std::move(head));
  append_member(document, "required", std::move(required));
  // Beside "$ref" the head holds, too.
  if (list.empty())
    for (auto& [key, member] : schema.items()) append_member(document, key, std::move(member));
  append_member(document, "$defs", writer.definitions());
  return document;
}

}  // namespace railbed::json

namespace railbed {

using namespace json::detail;

json::Value with_head(std::string_view format, int version, std::string_view list, json::Value fields) {
  json::Value document = new_object(size_of(fields) + 2);
  append_member(document, "format", from_text(format));
  append_member(document, "version", from_signed(version));
  if (!list.empty()) {
    append_member(document, list, std::move(fields));
    return document;
  }
  for (auto& [key, member] : fields.items())
    if (key != "format" && key != "version") append_member(document, key, std::move(member));
  return document;
}

}  // namespace railbed
