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
  // The field of Batch::image(): LoaderOptions::output.image, or the first chosen image field that
  // follows no other, or the first chosen image field.
  std::size_t image = Schema::kNone;
  // By field: the image that it follows; for an image that follows none, the field itself;
  // otherwise Schema::kNone.
  std::vector<std::size_t> leaders;

  // Whether every payload of the dataset is wanted.
  bool all_payloads = true;
  // Whether a chosen field has payloads.
  bool NeedsPayloads(const Schema& schema) const;

  // The choice without the fields that lie in columns, for reading blocks of the image shards.
  FieldChoice OfShards(const DatasetFacts& dataset) const;
  // The choice without the decoded image, for rows whose picture is already decoded.
  FieldChoice WithoutImage() const;

  // Throws Error(kInvalidArgument) for names that the dataset lacks, for a transform without an
  // image, and if `output.fields` leaves out an image that a chosen field needs. An image field,
  // such as a mask, needs the image that it follows, unless it is itself Batch::image(); boxes and
  // key points need theirs if there is a transform.
  static FieldChoice Of(const DatasetFacts& dataset, const LoaderOptions& options);
};

}  // namespace sluice
