// Parquet files that contain their images, as Hugging Face's datasets do.
//
// Arrow's C++ library is not used: Debian has no package of it, and the library in its Python wheel
// has 62 MB and must be linked by the compiler that built it. It would also read all images into
// memory (94 MB for files of 30 MB), while a conversion only needs each image's position until its
// turn comes. So Parquet is read here, in three files: parquet_file reads the footer,
// parquet_column reads the values of one column page by page, and this one chooses the columns and
// makes rows of them.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/source/records/image_records.h"
#include "writer/source/records/parquet_column.h"
#include "writer/source/records/records.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// The features described by Hugging Face's metadata in the file; null if it describes none.
json FeaturesOf(const ParquetFile& file) {
  const auto found = file.metadata.find("huggingface");
  if (found == file.metadata.end() || NestsDeeperThan(found->second, 2 * kMaxJsonDepth)) return {};
  const json whole = json::parse(found->second, nullptr, false);
  if (!whole.is_object() || !whole.contains("info") || !whole["info"].is_object()) return {};
  return whole["info"].value("features", json());
}

// The feature of a column such as "objects.category", without the lists around it.
json FeatureOf(const json& features, std::string_view name) {
  const json* at = &features;
  for (;;) {
    while ((at->is_array() && at->size() == 1) || (at->is_object() && at->contains("feature"))) {
      at = at->is_array() ? &(*at)[0] : &(*at)["feature"];
    }
    if (name.empty()) return *at;
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string step(name.substr(0, dot));
    if (!at->is_object() || !at->contains(step)) return {};
    at = &(*at)[step];
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
}

bool IsOf(const json& feature, const char* type) {
  return feature.is_object() && feature.contains("_type") && feature["_type"] == type;
}

bool LooksLikeBoxes(const std::string& name) {
  return name.find("box") != std::string::npos;
}

class ParquetRecords final : public ImageRecords {
 public:
  ParquetRecords(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : ImageRecords(source, archive, list), source_(source), file_(OpenParquet(path_)) {
    features_ = FeaturesOf(file_);
    FindImage();
    for (std::size_t l = 0; l < file_.leaves.size(); ++l) {
      const ParquetLeaf& leaf = file_.leaves[l];
      if (l == image_leaf_ || l == path_leaf_) continue;
      (leaf.supported ? headings_ : unread_).push_back(leaf.name);
    }
  }

  std::vector<std::string> UnreadColumns() const override { return unread_; }

  std::vector<Column> UsualColumns(const ConvertSource& source) const override {
    std::vector<Column> columns;
    for (const std::string& name : headings_) {
      const ParquetLeaf& leaf = file_.leaves[LeafOf(name)];
      const bool classes = IsOf(FeatureOf(features_, name), "ClassLabel");
      const bool label = classes || name == "label" || name == "class";
      const bool bytes = leaf.type == ParquetType::kBytes;
      const bool real = IsReal(leaf);
      if (leaf.lists > 0 && LooksLikeBoxes(name)) continue;
      if (label && (leaf.lists == 0 || classes) && (!real || AreWhole(LeafOf(name)) == true)) {
        if (source.label.store) {
          columns.push_back({name, leaf.lists == 0 ? ColumnType::kClass : ColumnType::kClasses});
        }
      } else if (bytes && !leaf.text) {
        continue;
      } else if (leaf.lists > 0) {
        columns.push_back({name, ColumnType::kJson});
      } else {
        columns.push_back({name, bytes  ? ColumnType::kText
                                 : real ? ColumnType::kFloat
                                        : ColumnType::kInt});
      }
    }
    return columns;
  }

  static bool IsReal(const ParquetLeaf& leaf) {
    return leaf.type == ParquetType::kFloat || leaf.type == ParquetType::kDouble ||
           leaf.type == ParquetType::kHalf;
  }

  bool HasFractions(const std::string& heading) const override {
    const std::size_t leaf = LeafOf(heading);
    return IsReal(file_.leaves[leaf]) && AreWhole(leaf) == false;
  }

  // Whether a column of floats has only numbers that classes can have; nullopt if it has no number.
  // Tables whose column of whole numbers has gaps are written so.
  std::optional<bool> AreWhole(std::size_t leaf) const {
    constexpr double kMaxClass = 65'535;
    if (file_.leaves[leaf].lists > 0) return false;
    bool any = false, all = true;
    for (const ParquetGroup& group : file_.groups) {
      ParquetColumn column(file_, group.chunks[leaf], file_.leaves[leaf], nullptr, archive_);
      for (std::uint64_t row = 0; row < group.rows; ++row) {
        column.NextRow([&](const ParquetValue& value) {
          if (value.missing || std::isnan(value.number)) return;
          any = true;
          all = all && std::abs(value.number) <= kMaxClass &&
                std::floor(value.number) == value.number;
        });
      }
    }
    return any ? std::optional(all) : std::nullopt;
  }

  std::string AdviceOnOthers() const override {
    for (const std::string& name : headings_) {
      if (file_.leaves[LeafOf(name)].lists == 0 || !LooksLikeBoxes(name)) continue;
      return "; to take boxes, name all columns that are wanted and the boxes' form, such as "
             "--field " +
             ToUtf8(name) + "=boxes:xywh";
    }
    return {};
  }

  std::vector<std::string> ClassesOf(const std::string& heading) const override {
    const json feature = FeatureOf(features_, heading);
    std::vector<std::string> names;
    if (!IsOf(feature, "ClassLabel") || !feature.contains("names")) return names;
    for (const json& name : feature["names"]) {
      if (!name.is_string()) return {};
      names.push_back(ToUtf8(name.get_ref<const std::string&>()));
    }
    return names;
  }

  void Use(const std::vector<std::string>& headings) override {
    for (const std::string& heading : headings) {
      if (std::none_of(used_.begin(), used_.end(),
                       [&](const Used& used) { return used.heading == heading; })) {
        used_.push_back({heading, LeafOf(heading), ClassesOf(heading), {}, {}});
      }
    }
  }

  void DropNamesOf(const std::string& heading) override {
    for (Used& used : used_)
      if (used.heading == heading) used.classes.clear();
  }

  bool Next() override {
    while (group_ < file_.groups.size() && record_in_group_ == file_.groups[group_].rows) {
      ++group_;
      record_in_group_ = 0;
      columns_.clear();
    }
    if (group_ == file_.groups.size()) return false;
    if (columns_.empty()) OpenColumns();
    ++record_in_group_;
    ++record_;
    image_.reset();
    columns_[0]->NextRow([this](const ParquetValue& value) {
      image_ = value.extent;
      sniffed_ =
          Sniff(Bytes(value.start).first(std::min<std::size_t>(value.extent.bytes, kSniffBytes)));
    });
    key_path_.clear();
    if (path_leaf_ != kNoLeaf) {
      columns_[1]->NextRow([this](const ParquetValue& value) { key_path_ = AsText(value.bytes); });
    }
    const std::size_t first = path_leaf_ == kNoLeaf ? 1 : 2;
    for (std::size_t u = 0; u < used_.size(); ++u)
      used_[u].cell = CellOf(used_[u], *columns_[first + u]);
    return true;
  }

  json Get(const std::string& heading) const override {
    for (const Used& used : used_) {
      if (used.heading != heading) continue;
      if (!used.trouble.empty()) throw Error(ErrorCode::kCorrupt, used.trouble);
      return used.cell;
    }
    return {};
  }

  std::string why_no_image() const override {
    if (key_path_.empty()) return "has no image";
    return "has only the path of its image; write the file with the images embedded (with "
           "Hugging Face's datasets library: embed_table_storage)";
  }
  std::string key() const override { return key_path_.empty() ? ImageRecords::key() : key_path_; }

 private:
  static constexpr std::size_t kNoLeaf = SIZE_MAX;

  struct Used {
    std::string heading;
    std::size_t leaf;                  // index in ParquetFile::leaves
    std::vector<std::string> classes;  // ClassesOf(); empty: values stay as stored
    json cell;                         // the value in the current row
    std::string trouble;               // why the cell cannot be used; empty if it can
  };

  std::size_t LeafOf(const std::string& name) const {
    for (std::size_t l = 0; l < file_.leaves.size(); ++l) {
      if (file_.leaves[l].name == name) return l;
    }
    return kNoLeaf;
  }

  // Whether the leaf has one byte string in each row, as images and their paths need.
  bool HoldsBytes(std::size_t leaf) const {
    return leaf != kNoLeaf && file_.leaves[leaf].type == ParquetType::kBytes &&
           file_.leaves[leaf].lists == 0;
  }

  bool TakeImage(const std::string& column) {
    const std::size_t inside = LeafOf(column + ".bytes");
    image_leaf_ = inside != kNoLeaf ? inside : LeafOf(column);
    if (!HoldsBytes(image_leaf_)) return false;
    path_leaf_ = LeafOf(column + ".path");
    if (path_leaf_ != kNoLeaf && !HoldsBytes(path_leaf_)) path_leaf_ = kNoLeaf;
    return true;
  }

  void FindImage() {
    std::vector<std::string> names;
    for (const ParquetLeaf& leaf : file_.leaves)
      names.push_back(leaf.name);
    if (!source_.rows.path_column.empty()) {
      if (TakeImage(source_.rows.path_column)) return;
      throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                  "has no column \"" + ToUtf8(source_.rows.path_column) + "\" of images" +
                      HeadingsInstead(source_.rows.path_column, names));
    }
    std::vector<std::string> described;  // columns that the metadata describes as images
    if (features_.is_object()) {
      for (const auto& feature : features_.items()) {
        if (IsOf(feature.value(), "Image") && TakeImage(feature.key())) {
          described.push_back(feature.key());
        }
      }
    }
    std::vector<std::string> structs;
    std::vector<std::string> plain;
    for (const ParquetLeaf& leaf : file_.leaves) {
      if (leaf.type != ParquetType::kBytes || leaf.text || leaf.lists > 0) continue;
      const bool inside = leaf.name.ends_with(".bytes");
      (inside ? structs : plain)
          .push_back(inside ? leaf.name.substr(0, leaf.name.size() - 6) : leaf.name);
    }
    const std::vector<std::string>& images = !described.empty() ? described : structs;
    if (TakeUsual(images.empty() ? plain : images)) {
      if (images.size() > 1 && archive_ == 0) {
        list_.warnings.push_back("several columns hold images: " + ListedHeadings(images) +
                                 "; Sluice takes \"" + ToUtf8(ImageColumn()) +
                                 "\" (to take another, name it by --path-column)");
      }
      return;
    }
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                images.empty() ? "has no column that Sluice recognises as images; name the column "
                                 "that holds them by --path-column; the file has: " +
                                     ListedHeadings(names)
                               : "has several columns of images; name one of them by "
                                 "--path-column: " +
                                     ListedHeadings(images));
  }

  // Uses the column if there is only one; otherwise the one whose name is usual for images.
  bool TakeUsual(const std::vector<std::string>& columns) {
    if (columns.size() == 1) return TakeImage(columns[0]);
    for (const char* usual : {"image", "img", "jpg", "jpeg", "png", "webp", "picture", "photo",
                              "image_bytes", "image_data", "content", "data"}) {
      if (HasHeading(columns, usual) && TakeImage(usual)) return true;
    }
    return false;
  }

  std::string ImageColumn() const {
    const std::string& leaf = file_.leaves[image_leaf_].name;
    return leaf.ends_with(".bytes") ? leaf.substr(0, leaf.size() - 6) : leaf;
  }

  void OpenColumns() {
    const auto open = [this](std::size_t leaf, SourceList* located) {
      columns_.push_back(std::make_unique<ParquetColumn>(file_, file_.groups[group_].chunks[leaf],
                                                         file_.leaves[leaf], located, archive_));
    };
    open(image_leaf_, &list_);
    if (path_leaf_ != kNoLeaf) open(path_leaf_, nullptr);
    for (const Used& used : used_)
      open(used.leaf, nullptr);
  }

  json CellOf(Used& used, ParquetColumn& column) const {
    const ParquetLeaf& leaf = file_.leaves[used.leaf];
    json cell = leaf.lists > 0 ? json::array() : json();
    used.trouble.clear();
    column.NextRow([&](const ParquetValue& value) {
      if (value.missing) {
        used.trouble = "a list has an entry that is null";
        return;
      }
      json one = sluice::CellOf(leaf, value);
      if (!used.classes.empty() && leaf.type != ParquetType::kBytes) {
        if (value.integer < 0 || static_cast<std::uint64_t>(value.integer) >= used.classes.size()) {
          used.trouble = one.dump() + " is not a class number: the column has " +
                         std::to_string(used.classes.size()) + " classes, numbered from 0";
          return;
        }
        one = used.classes[static_cast<std::size_t>(value.integer)];
      }
      if (leaf.lists > 0)
        cell.push_back(std::move(one));
      else
        cell = std::move(one);
    });
    return cell;
  }

  const ConvertSource& source_;
  ParquetFile file_;
  json features_;
  std::size_t image_leaf_ = kNoLeaf;
  std::size_t path_leaf_ = kNoLeaf;
  std::vector<std::string> unread_;  // columns of unsupported types
  std::vector<Used> used_;

  std::size_t group_ = 0;
  std::uint64_t record_in_group_ = 0;
  // The columns of the image, of its path if there is one, and of used_.
  std::vector<std::unique_ptr<ParquetColumn>> columns_;
  std::string key_path_;
};

}  // namespace

SourceList ReadParquet(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRecordsOf<ParquetRecords>(source, stop);
}

}  // namespace sluice
