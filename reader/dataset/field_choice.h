// Which fields of the schema reach the batches, and errors for callers who ask for a field of
// another name, kind or type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.h>
#include <sluice/loader_options.h>
#include <sluice/schema.h>

#include "reader/dataset/dataset_facts.h"

namespace sluice {

[[noreturn]] inline void RefuseField(std::string_view name, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "field \"" + std::string(name) + "\" " + what);
}

inline void RequireType(std::string_view name, DType held, DType asked) {
  if (held == asked) return;
  RefuseField(name, "holds " + std::string(NameOf(held)) + ", not " + std::string(NameOf(asked)));
}

struct FieldChoice {
  std::vector<bool> chosen;  // by field of the schema
  std::size_t image =
      Schema::kNone;  // the one of LoaderOptions::output.image, or the first chosen one
  std::vector<std::size_t> leaders;  // by field: the image it follows, or the field itself

  // Whether every payload of the dataset is wanted.
  bool all_payloads = true;

  // The choice without the decoded image, for rows whose picture is already decoded.
  FieldChoice WithoutImage() const;

  // Throws Error(kInvalidArgument) for names that the dataset lacks, and for a mask without the
  // image that it follows.
  static FieldChoice Of(const DatasetFacts& dataset, const LoaderOptions& options);
};

}  // namespace sluice
