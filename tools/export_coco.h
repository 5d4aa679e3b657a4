// Boxes, classes, instances and key points of an export in COCO's form, with which evaluations
// compare results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/dataset.h>

#include "tools/export_files.h"

namespace sluice {

// The texts of one sample: an entry of "images", and entries of "annotations" without their ids.
struct CocoEntries {
  std::string image;
  std::int64_t id = 0;
  std::vector<std::string> annotations;
  std::set<std::int64_t> unnamed;  // categories of classes without a name
  std::uint64_t bytes() const noexcept;
};

class CocoFile {
 public:
  // Throws Error(kInvalidArgument) if the dataset has no upright boxes of any number that follow
  // its first image.
  CocoFile(const Dataset& dataset, const std::filesystem::path& file);

  // `number`: the sample's; `path`: of its image, from the folder of images. Thread-safe. Throws
  // Error for a damaged sample, and for other than one class for each box.
  CocoEntries Of(const Sample& sample, std::uint64_t number, const std::string& path) const;

  // Call it for one sample after another: annotations are counted. Keeps the entries of images,
  // some hundred bytes each, in memory until Close(). Throws Error(kInvalidArgument) if two images
  // have the same id.
  void Add(const CocoEntries& entries);
  void Close();

 private:
  bool IsOfSourceSize(const Sample& sample, const ImagePayload& image) const;
  const Field* FollowerOf(Role role, FieldKind kind = FieldKind::kVariable) const;

  const Dataset& dataset_;
  std::string image_;  // the field
  const Field* boxes_ = nullptr;
  const Field* classes_ = nullptr;
  const Field* points_ = nullptr;
  const Field* crowd_ = nullptr;
  const Field* area_ = nullptr;
  const Field* instances_ = nullptr;
  std::vector<std::int64_t> category_ids_;  // by class
  nlohmann::ordered_json categories_ = nlohmann::ordered_json::array();
  std::set<std::int64_t> unnamed_;
  bool has_ids_ = false;  // of images
  NewFile file_;
  std::string images_, annotations_;
  std::uint64_t added_ = 0;               // annotations
  std::unordered_set<std::int64_t> ids_;  // of images
};

}  // namespace sluice
