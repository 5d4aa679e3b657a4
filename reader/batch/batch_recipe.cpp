// Puts the parts of a recipe together: the members are built in the order in which they need each
// other. Also finds which fields follow an image (FollowerFinder), and how many bytes a batch takes
// outside of its slot.
#include "reader/batch/batch_recipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sluice/error.h>

#include "format/disk/manifest.h"
#include "format/disk/system_error.h"
#include "reader/dataset/options_of.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

// The most batches that the loader may choose to decode ahead: as many as fit into kMaxBytes, but
// at least kLongPrefetch. The longest ring (kLongestPrefetch) pays only where some samples take far
// longer than others. It is ruled out if a batch takes memory outside of its slot: for
// variable-length or bytes fields, or for blocks that it reads from.
std::size_t MaxPrefetch(const BatchRecipe& recipe) {
  constexpr std::size_t kMaxBytes = std::size_t{128} << 20;
  const bool takes_more = !recipe.layout.variables.empty() ||
                          recipe.dataset.table.remote != nullptr || ReadsDirectly(recipe.options);
  const std::size_t most = takes_more ? kLongPrefetch : kLongestPrefetch;
  return std::clamp(kMaxBytes / recipe.layout.bytes, kLongPrefetch, most);
}

// The sizes of values, from the tables of all blocks. Passes over shards that cannot be read,
// because no batch will hold their values.
std::vector<ManifestValues> SurveyValues(DatasetState& dataset) {
  const Schema& schema = dataset.facts->manifest.schema;
  SampleTotals totals = NoTotals(schema);
  for (std::uint32_t s = 0; s < dataset.facts->shards.size(); ++s) {
    try {
      const ShardUse shard = dataset.table.Shard(s);
      const ReadGuard guard = shard->Guard();
      BlockHold blocks(*shard);
      for (std::uint32_t block = 0; block < shard->blocks(); ++block)
        totals.AddBlock(blocks.Block(block), dataset.facts->LayoutOf(s), schema);
    } catch (const Error& error) {
      if (IsShortage(error)) throw;
    }
  }
  return std::move(totals.values);
}

// The index of a field's entry in Manifest::values.
std::size_t ValuesIndexOf(const std::vector<Field>& fields, std::size_t field) {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(field), HasValues));
}

}  // namespace

namespace {

// Masks of 16 bits do not take the wide path: they are sampled by the nearest pixel.
bool HasWidePicture(const DatasetFacts& dataset, const FieldChoice& choice) {
  if (choice.image == Schema::kNone) return false;
  const ImageSummary& images = dataset.ImagesOf(choice.image);
  return dataset.manifest.schema.fields[choice.image].role != Role::kMask &&
         IsWide(images.pixel_type, images.max_channels);
}

}  // namespace

BatchRecipe::BatchRecipe(DatasetState& of, LoaderOptions checked_options,
                         const ExtendLayout& extend)
    : dataset(of),
      options(std::move(checked_options)),
      choice(FieldChoice::Of(dataset, options)),
      views(ViewsOf(options, HasWidePicture(dataset, choice))),
      program(dataset, options, choice),
      layout(MakeSlotLayout(dataset, options, choice, views, program.target(), extend)),
      followers(Followers::Of(dataset, options, choice, layout, views[0])),
      closes_batches(!layout.variables.empty() || program.mixes() ||
                     layout.image_sizes != ImageSizes::kEqual || layout.parts > 1 ||
                     options.batch_function != nullptr) {
  for (const SlotLayout::VariableField& field : layout.variables) {
    const bool instances = field.instances && field.field != Schema::kNone;
    max_instances.push_back(
        instances ? MaxInstanceBytes(field, dataset.facts->limits.bytes(field.field)) : 0);
  }
  program.Bind(dataset, choice, layout,
               program.mixes() ? Followers::Of(dataset, options, choice, layout, views[0], true)
                               : Followers(),
               max_instances);
  for (const ViewProgram& view : views)
    RequireBoxes(view.geometry.boxes_step());
  if (layout.parts > 1) CheckMosaic();
  CheckBoxRule();
  if (!options.ring.prefetch) options.ring.prefetch = MaxPrefetch(*this);
}

void BatchRecipe::RequireBoxes(const std::string& step) const {
  const auto follows = [this](const Followers::Boxes& boxes) {
    return boxes.leader == choice.image;
  };
  if (step.empty() || std::ranges::any_of(followers.boxes, follows)) return;
  throw Error(ErrorCode::kInvalidArgument, dataset.facts->folder.string(),
              step +
                  " chooses its crop by the boxes of the image, and batches have no field of "
                  "boxes that follows the image; name one in LoaderOptions::output.fields, or "
                  "leave the step out");
}

void BatchRecipe::CheckMosaic() const {
  const auto refuse = [this](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, dataset.facts->folder.string(), "Mosaic " + why);
  };
  const auto field = [this](std::size_t of) {
    return "field \"" + dataset.facts->manifest.schema.fields[of].name + "\"";
  };
  if (views.size() > 1)
    refuse(
        "shows several samples in a row, and views several pictures of one; leave "
        "LoaderOptions::views empty");
  for (const SlotLayout::ImageField& image : layout.images) {
    if (image.wide)
      refuse("shows images of 8 bits and up to four channels, and " + field(image.field) +
             " has others; leave it out of LoaderOptions::output.fields, or leave Mosaic out");
    if (image.leader != choice.image || (image.field == choice.image && image.nearest))
      refuse(
          "shows the picture and the masks that follow it, and " + field(image.field) +
          " is another image; leave it out of LoaderOptions::output.fields, or leave Mosaic out");
  }
  if (!program.target()) return;
  const std::size_t label = program.label_variable();
  if (label == Schema::kNone || choice.leaders[layout.variables[label].field] != choice.image)
    refuse(
        "shows four samples, and OneHot would have the label of one; leave OneHot out, or give "
        "it a variable-length field that follows the image");
}

void BatchRecipe::CheckBoxRule() const {
  const BoxRule& rule = options.output.boxes;
  const auto refuse = [this](const std::string& option, const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, dataset.facts->folder.string(),
                "LoaderOptions::output.boxes." + option + " " + why);
  };
  const auto has_instances = [](const Followers::Boxes& boxes) { return !boxes.instances.empty(); };
  const auto judged = std::ranges::find_if(followers.boxes, has_instances);
  const std::string by_masks = rule.from_masks ? "from_masks" : "min_mask";
  if (LooksAtMasks(rule) && judged == followers.boxes.end())
    refuse(by_masks,
           "looks at the masks of boxes, and batches have no field of instances that belongs to "
           "boxes; convert with `--take boxes,instances`, name both fields in "
           "LoaderOptions::output.fields, or do not set it");
  if (rule.from_masks && judged->coordinates.form == Coordinates::Form::kFourCorners)
    refuse(by_masks, "makes upright boxes of masks, and field \"" +
                         layout.variables[judged->index].name +
                         "\" holds oriented boxes, whose angle would be lost; do not set it");
  if (rule.most && followers.boxes.empty())
    refuse("most",
           "is the most boxes of a row, and batches have no field of boxes that follows an image; "
           "name one in LoaderOptions::output.fields, or do not set it");
}

bool BatchRecipe::RowsLeaveCaches() const noexcept {
  constexpr std::size_t kCachedBytes = std::size_t{16} << 20;
  return !options.sample_function && layout.image_sizes != ImageSizes::kPadded &&
         !layout.images.empty() &&
         options.batch_size * layout.picture().image.sample_bytes() > kCachedBytes;
}

std::uint64_t BatchRecipe::MaxVariableBytes() const {
  constexpr std::uint64_t kRowBytes = 128;  // the row's bookkeeping and the allocator's overhead
  const Manifest& manifest = dataset.facts->manifest;
  const auto of_dataset = [](const SlotLayout::VariableField& field) {
    return field.field != Schema::kNone;
  };
  if (std::ranges::none_of(layout.variables, of_dataset)) return 0;
  const std::vector<ManifestValues> found =
      manifest.values.empty() ? SurveyValues(dataset) : std::vector<ManifestValues>();
  std::uint64_t row = 0;
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (!of_dataset(field)) continue;
    std::uint64_t max = dataset.facts->limits.bytes(field.field);
    if (!found.empty())
      max = std::min(max, found[ValuesIndexOf(manifest.schema.fields, field.field)].max_bytes);
    max *= program.MostJoined() * layout.parts;
    if (field.instances)
      max = std::max(max, program.MostJoined() *
                              MaxInstanceBytes(field, dataset.facts->limits.bytes(field.field)));
    // Twice: stored for the row, then joined to other rows.
    row += 2 * max + kRowBytes;
  }
  return options.batch_size * row;
}

std::uint64_t BatchRecipe::InstanceBytes(const SlotLayout::VariableField& field,
                                         std::uint64_t stored, std::uint64_t parts,
                                         std::uint64_t most_objects) const {
  // Runs of pixels outside and inside, of 4 bytes each, of an object that is as wide as the row and
  // that each column of the row crosses twice. Real objects are narrower.
  constexpr std::uint64_t kColumnBytes = 16, kObjectBytes = 32;
  if (layout.images.empty()) return stored * parts;
  std::uint64_t columns = 0;
  for (const Geometry::Extent& extent : layout.picture().extents)
    columns = std::max<std::uint64_t>(columns, extent.width);
  std::uint64_t objects = 0;
  for (const SlotLayout::VariableField& boxes : layout.variables) {
    if (boxes.field == Schema::kNone ||
        choice.leaders[boxes.field] != choice.leaders[field.field] ||
        dataset.facts->manifest.schema.fields[boxes.field].role != Role::kBoxes)
      continue;
    objects = std::max(objects, dataset.facts->limits.bytes(boxes.field) / boxes.entry_bytes);
  }
  return 2 * stored * parts +
         std::min(objects * parts, most_objects) * (columns * kColumnBytes + kObjectBytes);
}

std::uint64_t BatchRecipe::UsualVariableBytes() const {
  const Manifest& manifest = dataset.facts->manifest;
  if (manifest.values.empty() || manifest.samples == 0) return 0;
  std::uint64_t bytes = 0;
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (field.field == Schema::kNone) continue;
    const ManifestValues& values =
        manifest.values[ValuesIndexOf(manifest.schema.fields, field.field)];
    // The loader does not read a value larger than ReadLimits allows.
    bytes +=
        2 * std::min(values.bytes / manifest.samples, dataset.facts->limits.bytes(field.field));
  }
  return bytes * options.batch_size * layout.parts;
}

namespace {

class FollowerFinder {
 public:
  FollowerFinder(const DatasetFacts& dataset, const LoaderOptions& options,
                 const FieldChoice& choice, const SlotLayout& layout, const ViewProgram& view)
      : dataset_(dataset),
        flip_pairs_(options.output.flip_pairs),
        choice_(choice),
        layout_(layout),
        view_(view),
        pastes_mirrored_(InAnyEpoch(options.transform, options.schedule, [](const Pipeline& steps) {
          return std::ranges::any_of(steps, [](const Transform& step) {
            const auto* const paste = std::get_if<CopyPaste>(&step);
            return paste != nullptr && paste->flip;
          });
        })) {}

  // `why` says what happens to the image, and what to do instead.
  void RefuseFollowers(const std::string& why) const {
    const auto check = [this, &why](std::size_t field) {
      if (field == Schema::kNone || field == choice_.image) return;
      const Role role = FieldAt(field).role;
      if (choice_.leaders[field] != choice_.image ||
          (role != Role::kMask && role != Role::kBoxes && role != Role::kKeypoints)) {
        return;
      }
      throw Error(ErrorCode::kInvalidArgument, dataset_.folder.string(),
                  "field \"" + FieldAt(field).name + "\" follows its image, which " + why);
    };
    for (const SlotLayout::ImageField& image : layout_.images)
      check(image.field);
    for (const SlotLayout::ArrayField& array : layout_.arrays)
      check(array.field);
    for (const SlotLayout::VariableField& variable : layout_.variables)
      check(variable.field);
  }

  Followers Find() {
    RequireBoxesOfInstances();
    for (std::size_t a = 0; a < layout_.arrays.size(); ++a)
      Add(layout_.arrays[a].field, false, a);
    for (std::size_t v = 0; v < layout_.variables.size(); ++v)
      Add(layout_.variables[v].field, true, v);
    for (std::size_t b = 0; b < followers_.boxes.size(); ++b)
      AddCompanions(b);
    return std::move(followers_);
  }

 private:
  const Field& FieldAt(std::size_t field) const { return dataset_.manifest.schema.fields[field]; }

  [[noreturn]] void Refuse(const Field& field, const std::string& what) const {
    throw Error(
        ErrorCode::kInvalidArgument, dataset_.folder.string(),
        "field \"" + field.name + "\" " + what +
            ", so it cannot follow its image through LoaderOptions::transform; leave it out of "
            "LoaderOptions::output.fields, or leave the geometric steps out of the transform");
  }

  void RequireBoxesOfInstances() const {
    for (const SlotLayout::VariableField& variable : layout_.variables) {
      if (!variable.instances) continue;
      const std::size_t leader = choice_.leaders[variable.field];
      const auto has_boxes = [&](const SlotLayout::VariableField& other) {
        return other.field != Schema::kNone && FieldAt(other.field).role == Role::kBoxes &&
               choice_.leaders[other.field] == leader;
      };
      if (leader != Schema::kNone && std::ranges::any_of(layout_.variables, has_boxes)) continue;
      throw Error(ErrorCode::kInvalidArgument, dataset_.folder.string(),
                  "field \"" + variable.name +
                      "\" holds the instances of boxes, and batches have no variable-length boxes "
                      "that follow the same image; name these boxes in "
                      "LoaderOptions::output.fields, or leave \"" +
                      variable.name + "\" out");
    }
  }

  // In every stage of the schedule: the pairs are found once for all epochs.
  bool Mirrors() const {
    if (pastes_mirrored_) return true;
    const auto mirrors = [](const Transform& step) {
      const auto* const across = std::get_if<HorizontalFlip>(&step);
      const auto* const down = std::get_if<VerticalFlip>(&step);
      return (across != nullptr && across->probability > 0) ||
             (down != nullptr && down->probability > 0);
    };
    for (std::size_t stage = 0; stage < view_.geometry.stages(); ++stage)
      if (std::ranges::any_of(view_.geometry.steps(stage), mirrors)) return true;
    return false;
  }

  // A left eye would silently become a right one without them.
  FlipPairs PairsAskedFor(const Field& field, std::size_t points) const {
    if (auto pairs = ParseFlipPairs(flip_pairs_, points); pairs && !flip_pairs_.empty())
      return *pairs;
    throw Error(
        ErrorCode::kInvalidArgument, dataset_.folder.string(),
        "field \"" + field.name + "\" has " + std::to_string(points) +
            " key points of an object, and " +
            (flip_pairs_.empty() ? "the dataset does not say which of them"
                                 : "LoaderOptions::output.flip_pairs, \"" + flip_pairs_ +
                                       "\", does not give pairs of them that") +
            " change places when a flip mirrors the image (as a left and a right eye do); set "
            "LoaderOptions::output.flip_pairs to these pairs, counted from 0, such as "
            "\"1-2,3-4\", or to \"none\" if there are none");
  }

  void Add(std::size_t field, bool variable, std::size_t index) {
    if (field == Schema::kNone) return;  // the user's functions make this field
    const Field& of = FieldAt(field);
    if (!IsDrawn(of)) return;
    // The classes of such boxes follow no image either. They would stay when their boxes are
    // dropped.
    if (of.follows.empty()) {
      Refuse(of, "holds " + std::string(of.role == Role::kBoxes ? "boxes" : "key points") +
                     " but follows no image (write it and the fields of its classes with "
                     "follows=\"" +
                     FieldAt(choice_.image).name + "\")");
    }
    if (const std::string why = WhyNotMovable(of); !why.empty()) Refuse(of, why);
    const Followers::Numbers numbers{variable, index, choice_.leaders[field],
                                     of.dtype == DType::kFloat64, *Coordinates::Of(of)};
    if (of.role == Role::kBoxes) {
      followers_.boxes.push_back({numbers, {}});
      return;
    }
    Followers::Points points{numbers, {PointsOf(of), of.shape.back(), {}}};
    if (const auto pairs = of.attributes.find("flip_pairs"); pairs != of.attributes.end())
      points.shape.pairs = *ParseFlipPairs(pairs->second, points.shape.points);
    else if (points.shape.points > 1 && Mirrors())
      points.shape.pairs = PairsAskedFor(of, points.shape.points);
    followers_.points.push_back(std::move(points));
  }

  // Fields with an entry for each box go with the first boxes field of their image.
  void AddCompanions(std::size_t b) {
    Followers::Boxes& boxes = followers_.boxes[b];
    if (!boxes.variable) return;
    for (std::size_t before = 0; before < b; ++before) {
      if (followers_.boxes[before].variable && followers_.boxes[before].leader == boxes.leader)
        return;
    }
    for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
      if (layout_.variables[v].field == Schema::kNone) continue;
      const Field& field = FieldAt(layout_.variables[v].field);
      if (choice_.leaders[layout_.variables[v].field] != boxes.leader) continue;
      if (BelongsToBoxes(field)) boxes.companions.push_back(v);
      if (field.role == Role::kInstances) boxes.instances.push_back(v);
    }
  }

  const DatasetFacts& dataset_;
  const std::string& flip_pairs_;
  const FieldChoice& choice_;
  const SlotLayout& layout_;
  const ViewProgram& view_;
  const bool pastes_mirrored_;
  Followers followers_;
};

}  // namespace

void Compact(std::vector<std::byte>& row, std::size_t entry_bytes,
             const std::vector<std::uint8_t>& kept) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < kept.size(); ++from) {
    if (kept[from] == 0) continue;
    if (to != from) {
      std::memcpy(&row[to * entry_bytes], &row[from * entry_bytes], entry_bytes);
    }
    ++to;
  }
  row.resize(to * entry_bytes);
}

Followers Followers::Of(const DatasetFacts& dataset, const LoaderOptions& options,
                        const FieldChoice& choice, const SlotLayout& layout,
                        const ViewProgram& view, bool unmoved) {
  FollowerFinder finder(dataset, options, choice, layout, view);
  if (view.pixels.moves()) {
    finder.RefuseFollowers(
        "RandAugment and TrivialAugmentWide would move without this field; leave it out of "
        "LoaderOptions::output.fields, or use RandomAffine and steps that change colours");
  }
  const auto instances = [](const SlotLayout::VariableField& field) { return field.instances; };
  const BoxRule& rule = options.output.boxes;
  const bool moves = !view.geometry.empty() || unmoved || LooksAtMasks(rule) || rule.most;
  // Nothing moves, so nothing has to follow, except that instances become runs.
  if (!moves && (layout.images.empty() || std::ranges::none_of(layout.variables, instances)))
    return {};
  Followers found = finder.Find();
  if (view.geometry.empty() && !unmoved) found.points.clear();
  if (!moves) {
    std::erase_if(found.boxes,
                  [](const Followers::Boxes& boxes) { return boxes.instances.empty(); });
    for (Followers::Boxes& boxes : found.boxes)
      boxes.stay = true;
  }
  return found;
}

}  // namespace sluice
