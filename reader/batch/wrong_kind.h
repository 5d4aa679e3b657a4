// Errors for callers who ask a batch for a field as what it is not: they say how to ask for it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "reader/batch/slot_layout.h"
#include "reader/dataset/field_errors.h"

namespace sluice {

// The field's index among the layout's fields of one kind; Schema::kNone if it is not one of them.
template <class FieldOfLayout>
std::size_t FindIn(const std::vector<FieldOfLayout>& fields, std::string_view name) noexcept {
  const auto at = std::find_if(fields.begin(), fields.end(),
                               [name](const FieldOfLayout& field) { return field.name == name; });
  return at == fields.end() ? Schema::kNone : static_cast<std::size_t>(at - fields.begin());
}

// Throws the Error for a field that is not of the kind asked for, such as "fixed-shape array".
// `of_bytes`: the functions that read a bytes field.
[[noreturn]] inline void RefuseKind(const SlotLayout& layout, std::string_view name,
                                    const char* kind, const char* of_bytes = "Bytes() or Text()") {
  const std::string no_such = std::string("is no ") + kind + " of this batch: ";
  if (const std::size_t a = FindIn(layout.arrays, name); a != Schema::kNone) {
    RefuseField(name, no_such + "it is a fixed-shape array; use Field<T>(), where T is " +
                          std::string(NameOf(layout.arrays[a].dtype)));
  }
  if (const std::size_t v = FindIn(layout.variables, name); v != Schema::kNone) {
    const SlotLayout::VariableField& field = layout.variables[v];
    if (field.bytes) RefuseField(name, no_such + "it holds bytes; use " + of_bytes);
    RefuseField(name, no_such + "its length varies from sample to sample; use Variable<T>(), " +
                          "where T is " + std::string(NameOf(field.dtype)));
  }
  const bool first = layout.image_field != Schema::kNone && layout.image_name == name;
  if (first || FindIn(layout.further_images, name) != Schema::kNone)
    RefuseField(name, no_such + "it is an image; use image(\"" + std::string(name) + "\")");
  RefuseField(name, no_such +
                        "the dataset has no such field, or LoaderOptions::output.fields leaves it "
                        "out");
}

}  // namespace sluice
