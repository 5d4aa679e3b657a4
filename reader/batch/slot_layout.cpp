// Works out the layout of a batch, once for each loader: first the views of the picture, then the
// other image fields (those that follow no image before those that follow one), then arrays and
// variable fields, then the fields that the loader or the user's functions make. A device may add
// room of its own (ExtendLayout).
//
// Most of this file is about sizes. A slot has room for the largest row, which follows from the
// steps and from the largest and smallest pictures according to the manifest. Datasets and options
// that cannot give batches are refused here.
#include "reader/batch/slot_layout.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/pixel_attributes.h>

#include "format/disk/bytes.h"
#include "format/disk/limits.h"
#include "format/pixels/wide.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/dataset/options_of.h"
#include "reader/transform/geometry.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

// Far above any real batch. The sizes come from a manifest, which may claim anything.
constexpr std::size_t kMaxSlotBytes = std::size_t{1} << 40;

[[noreturn]] void Refuse(const DatasetFacts& dataset, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(), what);
}

std::string RangeText(std::uint32_t low, std::uint32_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

// Refuses the dataset if even its smallest image is over the limit: nothing could be played.
void CheckPixels(const DatasetFacts& dataset, const ImageSummary& images) {
  const std::uint64_t least = std::uint64_t{images.min_width} * images.min_height;
  const std::uint64_t most = dataset.limits.pixels(dataset.FieldIndex(images.field));
  if (least <= most) return;
  throw Error(ErrorCode::kLimit, dataset.folder.string(),
              "the images of field \"" + images.field + "\" have " + std::to_string(least) +
                  " pixels or more, and at most " + std::to_string(most) +
                  " are decoded; if you trust the dataset, open it with a larger "
                  "ReadLimits::max_pixels (--max-pixels)");
}

ElementType ElementOf(PixelType type) {
  switch (type) {
    case PixelType::kUint8: return ElementType::kUint8;
    case PixelType::kUint16: return ElementType::kUint16;
    case PixelType::kInt16: return ElementType::kInt16;
    case PixelType::kFloat16: return ElementType::kFloat16;
    case PixelType::kFloat32: break;
  }
  return ElementType::kFloat32;
}

// `as_stored`: masks and wide images, whose channels are not converted.
std::size_t ChannelsOf(const DatasetFacts& dataset, const LoaderOptions& options,
                       const ImageSummary& images, bool as_stored) {
  if (options.output.channels != 0 && options.output.channels != 1 &&
      options.output.channels != 3) {
    Refuse(dataset, "LoaderOptions::output.channels must be 0, 1 or 3");
  }
  const auto is_picture = [](std::uint8_t channels) { return channels == 1 || channels == 3; };
  if (options.output.channels != 0 && as_stored &&
      (images.min_channels != options.output.channels ||
       images.max_channels != options.output.channels)) {
    Refuse(dataset, "field \"" + images.field +
                        "\" is a mask or not an 8-bit picture, so its channels cannot be "
                        "converted; leave LoaderOptions::output.channels at 0, and choose channels "
                        "by LoaderOptions::output.bands");
  }
  if (options.output.channels != 0 &&
      !(is_picture(images.min_channels) && is_picture(images.max_channels))) {
    Refuse(dataset,
           "some images of field \"" + images.field + "\" have " +
               std::to_string(is_picture(images.min_channels) ? images.max_channels
                                                              : images.min_channels) +
               " channels, which cannot be converted; leave LoaderOptions::output.channels at 0");
  }
  if (options.output.channels != 0) return options.output.channels;
  if (images.min_channels != images.max_channels) {
    Refuse(dataset, "some images have " + std::to_string(images.min_channels) + " and some " +
                        std::to_string(images.max_channels) + " channels; " +
                        (images.max_channels <= 4 && !as_stored
                             ? "set LoaderOptions::output.channels to 1 or 3"
                             : "convert them to one number of channels"));
  }
  return images.max_channels;
}

// Sets what only wide images have: the channels that batches hold, and the number for no data.
void SetWide(const DatasetFacts& dataset, const LoaderOptions& options, const ImageSummary& images,
             SlotLayout::ImageField& field) {
  const Field& of = dataset.manifest.schema.fields[field.field];
  field.pixels = images.pixel_type;
  field.image.type = ElementOf(images.pixel_type);
  field.wide = IsWide(images.pixel_type, images.max_channels);
  field.stored_channels = images.max_channels;
  for (std::uint32_t c = 0; c < images.max_channels; ++c)
    field.channels.push_back(c);
  const auto bands = options.output.bands.find(of.name);
  if (bands != options.output.bands.end()) {
    const std::string option = "LoaderOptions::output.bands: field \"" + of.name + "\" ";
    if (!field.wide || field.nearest) {
      Refuse(dataset, option +
                          "is a mask or holds 8-bit pictures of up to four channels, whose "
                          "channels are not chosen by name; leave it out of the option");
    }
    const std::vector<std::string> names = ChannelNamesOf(of);
    if (names.empty())
      Refuse(dataset, option + "has no attribute \"channels\" with the names of its channels");
    if (names.size() != images.max_channels) {
      Refuse(dataset, option + "names " + std::to_string(names.size()) +
                          " channels in its attribute \"channels\", but its images have " +
                          std::to_string(images.max_channels));
    }
    if (bands->second.empty() || bands->second.size() > kMaxImageChannels)
      Refuse(dataset, option + "needs 1 to 64 names of channels");
    field.channels.clear();
    for (const std::string& name : bands->second) {
      const auto at = std::ranges::find(names, name);
      if (at == names.end())
        Refuse(dataset,
               option + "has no channel \"" + name + "\"" + NamesInstead(name, names, "it has"));
      field.channels.push_back(static_cast<std::uint32_t>(at - names.begin()));
    }
  }
  if (!of.attributes.contains("no_data")) return;
  if (!field.wide) {
    if (field.nearest || images.present == 0) return;  // no values are mixed
    Refuse(dataset,
           "field \"" + of.name +
               "\" has the attribute no_data, and holds 8-bit pictures, in which each value "
               "is mixed with others; store its images as uint16, or without the attribute");
  }
  field.no_data = NoDataOf(of);
  const std::string text = of.attributes.at("no_data");
  const bool floats = field.pixels == PixelType::kFloat16 || field.pixels == PixelType::kFloat32;
  if (!field.no_data ||
      (!floats && ValueOf(field.pixels, BitsOf(field.pixels, *field.no_data)) != *field.no_data)) {
    Refuse(dataset, "field \"" + of.name + "\" has the attribute no_data \"" + text +
                        "\", which is not a value of " + std::string(NameOf(field.pixels)) +
                        "; correct the attribute");
  }
  field.fill = BitsOf(field.pixels, *field.no_data);
}

// Refuses what the steps cannot do to a wide image. `program`: null for an image without steps that
// change pixels. Sets the type of the rows.
void SetWideOutput(const DatasetFacts& dataset, const LoaderOptions& options,
                   const Geometry& geometry, const PixelProgram* program,
                   const std::vector<Geometry::Extent>& smallest, SlotLayout::ImageField& field) {
  const std::string of = "field \"" + field.name + "\", whose images hold " +
                         std::string(NameOf(field.pixels)) + " in " +
                         std::to_string(field.stored_channels) +
                         (field.stored_channels == 1 ? " channel" : " channels");
  if (program != nullptr && options.on_device.decode != DecodeOn::kHost) {
    Refuse(dataset, "LoaderOptions::on_device.decode is for 8-bit pictures, and not for " + of +
                        "; leave it at its default: the device gets finished rows");
  }
  for (std::size_t stage = 0; stage < geometry.stages(); ++stage) {
    for (const Transform& step : geometry.steps(stage)) {
      if (HasColour(step)) {
        Refuse(dataset, StepName(step) +
                            " has a fill that is not black, which is for 8-bit pictures,"
                            " and not for " +
                            of + "; set its fill to 0, which is black");
      }
    }
    if (program != nullptr) {
      program->CheckWide(of, smallest[stage].width, smallest[stage].height,
                         static_cast<std::uint32_t>(field.channels.size()), stage);
    }
  }
  if (program != nullptr && program->output()) {
    field.image.type = ElementTypeOf(*program->output());
    field.fill = 0;
  } else if (program != nullptr && field.no_data && Blends(options)) {
    Refuse(dataset, "MixUp would mix no data with values in " + of +
                        "; end the transform's own steps with Normalize, which makes 0 of no data");
  }
}

// The smallest or largest width and height that the steps make of the field's pictures. A resized
// side is longer if that side of the picture is longer, and shorter if the picture's other side is
// longer. So the largest width comes from the largest width with the least height.
Geometry::Extent BoundOf(const ImageSummary& images, const Geometry& geometry, std::size_t stage,
                         bool largest) {
  const Geometry::Extent wide =
      geometry.SizeFor({images.max_width, images.min_height}, stage,
                       largest ? DrawnSize::kMostWide : DrawnSize::kLeastWide);
  const Geometry::Extent high =
      geometry.SizeFor({images.min_width, images.max_height}, stage,
                       largest ? DrawnSize::kMostHigh : DrawnSize::kLeastHigh);
  Geometry::Extent bound = {largest ? wide.width : high.width, largest ? high.height : wide.height};
  if (geometry.swapping_step().empty()) return bound;
  // A turn may exchange the sides, so both bounds are those of the longer side.
  const auto sides = {wide.width, wide.height, high.width, high.height};
  bound.width = bound.height = largest ? std::max(sides) : std::min(sides);
  return bound;
}

Geometry::Extent ExtentOf(const DatasetFacts& dataset, const ImageSummary& images,
                          const Geometry& geometry, std::size_t stage, ImageSizes sizes) {
  if (const auto fixed = geometry.FixedExtent(stage)) return *fixed;
  if (sizes != ImageSizes::kEqual) return BoundOf(images, geometry, stage, true);
  if (!geometry.sizing_step(stage).empty()) {
    Refuse(dataset, geometry.sizing_step(stage) +
                        " draws the size of its result; add a step that makes the images of a "
                        "batch equal, such as FixedSizeCrop(640) or Resize(640), or set "
                        "LoaderOptions::output.image_sizes to ImageSizes::kPadded or "
                        "ImageSizes::kOwn");
  }
  if (images.min_width != images.max_width || images.min_height != images.max_height) {
    Refuse(dataset,
           "the images of field \"" + images.field + "\" differ in size (width " +
               RangeText(images.min_width, images.max_width) + ", height " +
               RangeText(images.min_height, images.max_height) +
               "); add a transform that makes them equal, such as "
               "RandomResizedCrop(224) or Resize(224), or set "
               "LoaderOptions::output.image_sizes to ImageSizes::kPadded or ImageSizes::kOwn");
  }
  const Geometry::Extent extent =
      geometry.SizeFor({images.max_width, images.max_height}, stage, DrawnSize::kDrawn);
  if (!geometry.swapping_step().empty() && extent.width != extent.height) {
    Refuse(dataset, geometry.swapping_step() + " needs square images, and the images of field \"" +
                        images.field + "\" would be " + std::to_string(extent.width) + "x" +
                        std::to_string(extent.height) + "; add a crop or resize to a square");
  }
  return extent;
}

// Gives the image the size of its largest extent.
void SetExtents(const std::vector<Geometry::Extent>& extents, ImageBatch& image) {
  const auto area = [](const Geometry::Extent& e) { return std::uint64_t{e.width} * e.height; };
  const Geometry::Extent& largest = *std::ranges::max_element(extents, {}, area);
  image.width = largest.width;
  image.height = largest.height;
}

std::vector<Geometry::Extent> ExtentsOf(const DatasetFacts& dataset, const ImageSummary& images,
                                        const Geometry& geometry, ImageSizes sizes) {
  std::vector<Geometry::Extent> extents;
  for (std::size_t stage = 0; stage < geometry.stages(); ++stage)
    extents.push_back(ExtentOf(dataset, images, geometry, stage, sizes));
  for (std::size_t stage = 0; sizes == ImageSizes::kEqual && stage < geometry.stages();
       stage += geometry.RowStages(stage)) {
    for (std::size_t i = 1; i < geometry.RowStages(stage); ++i) {
      const Geometry::Extent &first = extents[stage], &other = extents[stage + i];
      if (first == other) continue;
      Refuse(dataset, "the lists of RandomChoice make images of " + std::to_string(first.width) +
                          "x" + std::to_string(first.height) + " and of " +
                          std::to_string(other.width) + "x" + std::to_string(other.height) +
                          ", and a batch has one size; end all lists with the same size, add a "
                          "step after the choice such as Resize(224), or set "
                          "LoaderOptions::output.image_sizes to ImageSizes::kPadded or "
                          "ImageSizes::kOwn");
    }
  }
  return extents;
}

// Gives the stages of which each row of a batch has one (Geometry::RowStage()) the bounds of all of
// them: a batch knows only the first.
void JoinRowStages(const Geometry& geometry, SlotLayout::ImageField& field) {
  const auto join = [&](std::vector<Geometry::Extent>& extents, const auto& better) {
    for (std::size_t stage = 0; stage < extents.size(); stage += geometry.RowStages(stage)) {
      const auto first = extents.begin() + static_cast<std::ptrdiff_t>(stage);
      const auto end = first + static_cast<std::ptrdiff_t>(geometry.RowStages(stage));
      Geometry::Extent bound = *first;
      std::for_each(first, end, [&](const Geometry::Extent& one) {
        bound = {better(bound.width, one.width), better(bound.height, one.height)};
      });
      std::fill(first, end, bound);
    }
  };
  const auto larger = [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); };
  const auto smaller = [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); };
  join(field.extents, larger);
  join(field.least, smaller);
  SetExtents(field.extents, field.image);
}

// The smallest extents, by stage; empty if all images have one size.
std::vector<Geometry::Extent> LeastOf(const ImageSummary& images, const Geometry& geometry,
                                      ImageSizes sizes) {
  std::vector<Geometry::Extent> least;
  for (std::size_t stage = 0; sizes != ImageSizes::kEqual && stage < geometry.stages(); ++stage) {
    const auto fixed = geometry.FixedExtent(stage);
    least.push_back(fixed ? *fixed : BoundOf(images, geometry, stage, false));
  }
  return least;
}

[[noreturn]] void RefuseBytes(const DatasetFacts& dataset) {
  Refuse(dataset, "a batch of this size takes more than 1 TiB; lower LoaderOptions::batch_size");
}

// The bytes that a row of the image takes in a slot. A stored image has at most `most_pixels`
// pixels.
std::size_t RowBytesOf(const DatasetFacts& dataset, const LoaderOptions& options,
                       const ImageBatch& image, const std::vector<Geometry::Extent>& extents,
                       const Geometry& geometry, std::uint64_t most_pixels) {
  const ImageSizes sizes = options.output.image_sizes;
  if (sizes == ImageSizes::kEqual) return image.sample_bytes();
  std::uint64_t pixels = 0;
  for (std::size_t stage = 0; stage < extents.size(); ++stage) {
    const Pipeline& steps = geometry.steps(stage);
    std::uint64_t most = std::uint64_t{extents[stage].width} * extents[stage].height;
    // The steps change no size, so a row has at most the pixels of a stored picture: less than the
    // largest width times the largest height, which may belong to different pictures.
    if (sizes == ImageSizes::kOwn && std::ranges::all_of(steps, Turns))
      most = std::min(most, most_pixels);
    pixels = std::max(pixels, most);
  }
  const std::uint64_t bytes =
      AlignUp(pixels * image.channels * SizeOf(image.type), kPayloadAlignment);
  if (bytes > kMaxSlotBytes / options.batch_size) RefuseBytes(dataset);
  return bytes;
}

// Gives the image the type and layout that the view's steps make. Refuses steps that do not fit it.
// `plain`: the field holds pictures, not masks.
void SetOutput(const DatasetFacts& dataset, const PixelProgram& program, const std::string& field,
               bool plain, const std::vector<Geometry::Extent>& smallest, ImageBatch& image) {
  if (program.empty()) return;
  if (!plain) {
    Refuse(dataset, "LoaderOptions::transform has steps that change pixels, and field \"" + field +
                        "\" is a mask");
  }
  for (std::size_t stage = 0; stage < smallest.size(); ++stage) {
    program.CheckSize(smallest[stage].width, smallest[stage].height,
                      static_cast<std::uint32_t>(image.channels), stage);
  }
  if (const auto output = program.output()) {
    image.type = ElementTypeOf(*output);
  } else if (program.continues_on_device()) {
    image.layout = Layout::kNHWC;  // as decoded; the device converts to the delivered layout
  }
}

void CheckWarp(const DatasetFacts& dataset, const Geometry& geometry, const ImageBatch& image) {
  if (!geometry.warping_step().empty() && image.channels != 1 && image.channels != 3) {
    Refuse(dataset, geometry.warping_step() +
                        " is for images of one or three channels, and these have " +
                        std::to_string(image.channels));
  }
}

void AddImage(SlotLayout::ImageField field, SlotLayout& layout) {
  field.offset = layout.bytes;
  layout.bytes += AlignUp(field.row_bytes * field.image.samples, kPageBytes);
  layout.images.push_back(std::move(field));
}

// Refuses datasets whose pictures cannot be made into batches, whatever the view.
void CheckPicture(const DatasetFacts& dataset, const FieldChoice& choice) {
  const Field& field = dataset.manifest.schema.fields[choice.image];
  if (const DatasetFacts* const without = dataset.LacksField(choice.image)) {
    Refuse(*without, "it has no image field \"" + field.name +
                         "\", which batches of the mixture are made of; name a field that all its "
                         "datasets have in LoaderOptions::output.image, or leave this one out");
  }
  const ImageSummary& images = dataset.ImagesOf(choice.image);
  if (images.present == 0)
    Refuse(dataset, "no sample has an image in field \"" + images.field + "\"");
  CheckPixels(dataset, images);
}

void CheckViews(const DatasetFacts& dataset, const std::vector<ViewProgram>& views,
                const Field& field) {
  if (field.role == Role::kMask) {
    Refuse(dataset,
           "LoaderOptions::views needs pictures, and field \"" + field.name + "\" is a mask");
  }
  for (std::size_t v = 1; v < views.size(); ++v) {
    if (dataset.manifest.schema.Find(views[v].name) == Schema::kNone) continue;
    Refuse(dataset, "LoaderOptions::views has a view \"" + views[v].name +
                        "\", which is also a field of the dataset; choose another name");
  }
}

void LayOutViews(const DatasetFacts& dataset, const LoaderOptions& options,
                 const FieldChoice& choice, const std::vector<ViewProgram>& views,
                 SlotLayout& layout) {
  if (choice.image == Schema::kNone) {
    if (views.size() > 1)
      Refuse(dataset, "LoaderOptions::views needs an image, and the batch has none");
    return;
  }
  CheckPicture(dataset, choice);
  const Field& of = dataset.manifest.schema.fields[choice.image];
  const ImageSummary& images = dataset.ImagesOf(choice.image);
  layout.views = views.size();
  layout.parts = MostPartsIn(options);
  for (std::size_t v = 0; v < views.size(); ++v) {
    const ViewProgram& view = views[v];
    SlotLayout::ImageField field;
    field.field = field.leader = choice.image;
    field.view = v;
    field.name = v == 0 ? of.name : view.name;
    field.nearest = of.role == Role::kMask;
    field.moves = view.pixels.moves();
    SetWide(dataset, options, images, field);
    field.extents = ExtentsOf(dataset, images, view.geometry, layout.image_sizes);
    field.least = LeastOf(images, view.geometry, layout.image_sizes);
    field.image.samples = options.batch_size;
    SetExtents(field.extents, field.image);
    field.image.channels = ChannelsOf(dataset, options, images, field.wide || field.nearest);
    field.image.layout = options.output.layout;
    const std::vector<Geometry::Extent>& smallest =
        field.least.empty() ? field.extents : field.least;
    if (field.wide && !field.nearest) {
      field.image.channels = field.channels.size();
      SetWideOutput(dataset, options, view.geometry, &view.pixels, smallest, field);
    } else {
      SetOutput(dataset, view.pixels, of.name, !field.nearest, smallest, field.image);
      if (!field.nearest) CheckWarp(dataset, view.geometry, field.image);
    }
    JoinRowStages(view.geometry, field);
    field.row_bytes = RowBytesOf(dataset, options, field.image, field.extents, view.geometry,
                                 dataset.limits.pixels(choice.image));
    AddImage(std::move(field), layout);
    if (v == 0 && views.size() > 1) CheckViews(dataset, views, of);
  }
}

// Ends of sentences for the error about a field that a dataset of a mixture lacks.
struct LackingValue {
  std::string what;  // the value that the dataset's samples would have in the field
  std::string set;   // the option to set so that they may have it
};

LackingValue LackingValueOf(const Field& field) {
  const std::string absent = "LoaderOptions::output.absent to ";
  const bool label = field.role == Role::kLabel;
  if (field.role == Role::kMask) {
    return {
        "would be class 0 everywhere",
        "LoaderOptions::output.mask_fill for it to a number that your loss ignores, such as 255"};
  }
  if (field.kind == FieldKind::kImage)
    return {"would be black", absent + "a number, such as 0, if it may be"};
  if (field.kind == FieldKind::kVariable) {
    return {label ? "would say that they are of no class" : "would be empty, as if they had none",
            absent + "a number, such as 0, if it may be empty"};
  }
  return {label ? "would be a class that nobody gave them" : "would be 0, which nobody gave them",
          absent + "a number that your loss ignores, such as -100"};
}

bool NeedsMasks(const LoaderOptions& options, const Field& field) {
  return field.role == Role::kMask && !field.follows.empty() &&
         !options.output.mask_fill.contains(field.name);
}

// Refuses masks that some samples lack, for the reason that RequireValues() gives. If the samples
// are chosen, FieldReader refuses those of them that lack the mask.
void RequireMasks(const DatasetFacts& dataset, const LoaderOptions& options, const Field& field) {
  if (!NeedsMasks(options, field) || !options.order.samples.all() || options.order.batches) return;
  const std::uint64_t masks = dataset.ImagesOf(dataset.FieldIndex(field.name)).present;
  const std::uint64_t pictures = dataset.ImagesOf(dataset.FieldIndex(field.follows)).present;
  if (masks >= pictures) return;
  const LackingValue value = LackingValueOf(field);
  Refuse(dataset, std::to_string(pictures - masks) + " of " + std::to_string(pictures) +
                      " pictures have no mask in field \"" + field.name + "\", so their mask " +
                      value.what + "; set " + value.set +
                      ", or to 0 if it should be so, or leave the field out by "
                      "LoaderOptions::output.fields");
}

// Refuses a field that a dataset of the mixture lacks, unless the options say what its samples have
// there: a training would take whatever the loader made up for a real value. Bytes may be missing,
// because nobody takes an empty text for a real one.
void RequireValues(const DatasetFacts& dataset, const LoaderOptions& options, std::size_t index) {
  const Field& field = dataset.manifest.schema.fields[index];
  const DatasetFacts* const without = dataset.LacksField(index);
  if (without == nullptr) return RequireMasks(dataset, options, field);
  if (field.kind == FieldKind::kBytes) return;
  const bool mask = field.role == Role::kMask;
  if (mask ? options.output.mask_fill.contains(field.name) : options.output.absent.has_value())
    return;
  const std::string name =
      (field.role == Role::kLabel ? "label \"" : "field \"") + field.name + "\"";
  const LackingValue value = LackingValueOf(field);
  Refuse(*without, "has no " + name + ", which other datasets of the mixture have, so the " + name +
                       " of its samples " + value.what + "; set " + value.set +
                       ", or leave the field out by LoaderOptions::output.fields");
}

// Lays out the image fields other than the picture: first those that follow no image, since the
// fields that follow them take their extents.
void LayOutOtherImages(const DatasetFacts& dataset, const LoaderOptions& options,
                       const FieldChoice& choice, const Geometry& geometry, SlotLayout& layout) {
  const std::vector<Field>& fields = dataset.manifest.schema.fields;
  std::vector<std::vector<Geometry::Extent>> extents(fields.size());
  if (!layout.images.empty()) extents[choice.image] = layout.picture().extents;
  for (const bool leads : {true, false}) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f].kind != FieldKind::kImage || !choice.chosen[f] || f == choice.image) continue;
      if ((choice.leaders[f] == f) != leads) continue;
      const ImageSummary& images = dataset.ImagesOf(f);
      CheckPixels(dataset, images);
      SlotLayout::ImageField field;
      field.field = f;
      field.name = fields[f].name;
      field.leader = choice.leaders[f];
      field.nearest = fields[f].role == Role::kMask;
      SetWide(dataset, options, images, field);
      if (leads) {
        extents[f] = images.present == 0
                         ? std::vector<Geometry::Extent>(geometry.stages())
                         : ExtentsOf(dataset, images, geometry, options.output.image_sizes);
      }
      field.image.samples = options.batch_size;
      field.image.layout = options.output.layout;
      field.extents = extents[field.leader];
      if (options.output.image_sizes != ImageSizes::kEqual)
        field.least.resize(geometry.stages());  // no step needs a certain size
      SetExtents(field.extents, field.image);
      // If no sample has an image of the field, batches hold zeros.
      field.image.channels = std::max<std::size_t>(images.max_channels, 1);
      if (images.min_channels != images.max_channels) {
        Refuse(dataset, "the images of field \"" + field.name +
                            "\" differ in their number of channels; leave it out of "
                            "LoaderOptions::output.fields, or make it LoaderOptions::output.image");
      }
      RequireValues(dataset, options, f);
      field.required = NeedsMasks(options, fields[f]);
      if (field.wide && !field.nearest) {
        field.image.channels = std::max<std::size_t>(field.channels.size(), 1);
        SetWideOutput(dataset, options, geometry, nullptr, {}, field);
      } else if (!field.nearest) {
        CheckWarp(dataset, geometry, field.image);
      }
      JoinRowStages(geometry, field);
      field.row_bytes = RowBytesOf(dataset, options, field.image, field.extents, geometry,
                                   dataset.limits.pixels(field.leader));
      AddImage(std::move(field), layout);
    }
  }
}

// Refuses LoaderOptions::output.bands for fields that batches do not hold.
void CheckBands(const DatasetFacts& dataset, const LoaderOptions& options,
                const SlotLayout& layout) {
  for (const auto& [name, bands] : options.output.bands) {
    dataset.ImageField(name);  // throws for other names
    if (FindIn(layout.images, name) != Schema::kNone) continue;
    Refuse(dataset, "LoaderOptions::output.bands names field \"" + name +
                        "\", which LoaderOptions::output.fields leaves out; name it there, too");
  }
}

// Applies LoaderOptions::output.mask_fill.
void SetMaskFills(const DatasetFacts& dataset, const LoaderOptions& options, SlotLayout& layout) {
  for (const auto& [name, value] : options.output.mask_fill) {
    const Field& field = dataset.manifest.schema.fields[dataset.FieldIndex(name)];
    if (field.kind != FieldKind::kImage || field.role != Role::kMask) {
      Refuse(dataset, "LoaderOptions::output.mask_fill names field \"" + name +
                          "\", which is not a mask; the border colour of a picture is set in its "
                          "step, such as RandomCrop::fill");
    }
    const std::size_t at = FindIn(layout.images, name);
    if (at == Schema::kNone) {
      Refuse(dataset, "LoaderOptions::output.mask_fill names field \"" + name +
                          "\", which LoaderOptions::output.fields leaves out; name it there, too");
    }
    SlotLayout::ImageField& mask = layout.images[at];
    const std::uint32_t bits = BitsOf(mask.pixels, value);
    if (ValueOf(mask.pixels, bits) != static_cast<float>(value)) {
      Refuse(dataset, "LoaderOptions::output.mask_fill is " + std::to_string(value) + " for \"" +
                          name + "\", a mask of " + std::string(NameOf(mask.pixels)) +
                          ", which does not have this value");
    }
    mask.fill = bits;
  }
}

void AddVariable(const Field& of, std::size_t index, SlotLayout& layout) {
  SlotLayout::VariableField field;
  field.field = index;
  field.name = of.name;
  field.bytes = of.kind == FieldKind::kBytes;
  field.instances = of.role == Role::kInstances;
  if (!field.bytes) {
    field.dtype = of.dtype;
    field.entry = of.elements();
    field.entry_bytes = field.entry * SizeOf(field.dtype);
    field.shape = of.shape;
  }
  layout.variables.push_back(std::move(field));
}

void AddArray(const Field& of, std::size_t index, SlotLayout& layout) {
  const std::size_t bytes = of.elements() * SizeOf(of.dtype);
  layout.arrays.push_back({index, of.name, of.dtype, bytes, layout.bytes, of.shape});
  layout.bytes += AlignUp(bytes * layout.batch_size, kPayloadAlignment);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> LackingOf(const DatasetFacts& dataset,
                                                               std::size_t field) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lacking;
  for (const MixedDataset& part : dataset.parts) {
    if (part.has(field)) continue;
    lacking.emplace_back(part.first_sample,
                         part.first_sample + part.dataset->facts->manifest.samples);
  }
  return lacking;
}

// Sets all elements to the value. Returns false if the type cannot hold it.
bool Fill(DType type, std::int64_t value, std::vector<std::byte>& elements) {
  return WithElementType(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, Float16>) {
      constexpr std::int64_t kExact = 2048;  // larger whole numbers may have gaps between them
      if (value < -kExact || value > kExact) return false;
      element = Float16(static_cast<float>(value));
    } else {
      element = static_cast<T>(value);
    }
    if (static_cast<std::int64_t>(element) != value) return false;
    for (std::size_t at = 0; at < elements.size(); at += sizeof element)
      std::memcpy(elements.data() + at, &element, sizeof element);
    return true;
  });
}

// The value of LoaderOptions::output.absent for an array that a dataset of the mixture lacks; empty
// if all have it.
std::vector<std::byte> AbsentOf(const DatasetFacts& dataset, const LoaderOptions& options,
                                std::size_t index) {
  if (dataset.LacksField(index) == nullptr) return {};
  const Field& field = dataset.manifest.schema.fields[index];
  std::vector<std::byte> value(field.elements() * SizeOf(field.dtype));
  if (!Fill(field.dtype, *options.output.absent, value)) {
    Refuse(dataset, "LoaderOptions::output.absent is " + std::to_string(*options.output.absent) +
                        ", which does not fit field \"" + field.name + "\" of " +
                        std::string(NameOf(field.dtype)) +
                        "; choose another number, or leave the field out by "
                        "LoaderOptions::output.fields");
  }
  return value;
}

void LayOutFields(const DatasetFacts& dataset, const LoaderOptions& options,
                  const FieldChoice& choice, SlotLayout& layout) {
  const std::vector<Field>& fields = dataset.manifest.schema.fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!choice.chosen[f] || fields[f].kind == FieldKind::kImage) continue;
    RequireValues(dataset, options, f);
    if (fields[f].kind == FieldKind::kArray) {
      AddArray(fields[f], f, layout);
      layout.arrays.back().lacking = LackingOf(dataset, f);
      layout.arrays.back().absent = AbsentOf(dataset, options, f);
    } else {
      AddVariable(fields[f], f, layout);
    }
  }
}

[[noreturn]] void RefuseMade(const DatasetFacts& dataset, const Field& field,
                             const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
              "LoaderOptions::output.made_fields: field \"" + field.name + "\" " + what);
}

void CheckMadeShape(const DatasetFacts& dataset, const Field& field) {
  if (field.kind == FieldKind::kImage) {
    RefuseMade(dataset, field,
               "is an image field; declare an array of shape {height, width, channels} instead");
  }
  if (field.kind == FieldKind::kBytes) return;
  if (std::ranges::find(field.shape, 0U) != field.shape.end())
    RefuseMade(dataset, field, "has an extent of 0 in its shape");
  if (field.shape.size() > kMaxDimensions) RefuseMade(dataset, field, "has more than 8 extents");
  if (field.elements() > kMaxImagePixels)
    RefuseMade(dataset, field, "has more than 268435456 elements");
}

// Checks the fields that the user's functions and OneHot add to batches. An array may be as large
// as an image, because it is not stored on disk.
void CheckMadeFields(const DatasetFacts& dataset, const std::vector<Field>& made,
                     const std::optional<Field>& target) {
  // Names and references are checked like those on disk; shapes have other limits.
  Schema schema;
  for (const Field& field : made) {
    CheckMadeShape(dataset, field);
    if (dataset.manifest.schema.Find(field.name) != Schema::kNone)
      RefuseMade(dataset, field, "has the name of a field of the dataset; choose another name");
    schema.fields.push_back(field);
    schema.fields.back().shape.clear();
  }
  if (target) {
    schema.fields.push_back(*target);
    schema.fields.back().shape.clear();
  }
  if (!schema.fields.empty()) schema.Validate();
}

void LayOutMadeFields(const DatasetFacts& dataset, const LoaderOptions& options,
                      const std::optional<Field>& target, SlotLayout& layout) {
  CheckMadeFields(dataset, options.output.made_fields, target);
  if (target) AddArray(*target, Schema::kNone, layout);
  if (options.output.made_fields.empty()) return;
  if (!options.sample_function && !options.batch_function) {
    Refuse(
        dataset,
        "LoaderOptions::output.made_fields needs a sample_function or batch_function to fill them");
  }
  for (const Field& field : options.output.made_fields) {
    if (field.kind == FieldKind::kArray) {
      AddArray(field, Schema::kNone, layout);
    } else {
      AddVariable(field, Schema::kNone, layout);
    }
  }
}

}  // namespace

SlotLayout MakeSlotLayout(const DatasetFacts& dataset, LoaderOptions& options,
                          const FieldChoice& choice, const std::vector<ViewProgram>& views,
                          const std::optional<Field>& target, const ExtendLayout& extend) {
  SlotLayout layout;
  layout.batch_size = options.batch_size;
  layout.image_sizes = options.output.image_sizes;
  LayOutViews(dataset, options, choice, views, layout);
  for (const auto& [name, value] : options.output.mask_fill)
    dataset.FieldIndex(name);  // a wrong name is refused before the mask that it was meant for
  LayOutOtherImages(dataset, options, choice, views[0].geometry, layout);
  SetMaskFills(dataset, options, layout);
  CheckBands(dataset, options, layout);
  layout.keeps_shown = options.sample_function || options.batch_function;
  LayOutFields(dataset, options, choice, layout);
  LayOutMadeFields(dataset, options, target, layout);
  if (extend) extend(layout, dataset, options, views);
  layout.bytes = std::max<std::size_t>(AlignUp(layout.bytes, kPageBytes), kPageBytes);
  if (layout.bytes > kMaxSlotBytes) RefuseBytes(dataset);
  return layout;
}

void RefuseKind(const SlotLayout& layout, std::string_view name, const char* kind,
                const char* of_bytes) {
  const std::string no_such = std::string("is not among this batch's ") + kind + "s: ";
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
  if (FindIn(layout.images, name) != Schema::kNone)
    RefuseField(name, no_such + "it is an image; use image(\"" + std::string(name) + "\")");
  std::vector<std::string> names;
  const auto add = [&names](const auto& fields) {
    for (const auto& field : fields)
      names.push_back(field.name);
  };
  add(layout.images);
  add(layout.arrays);
  add(layout.variables);
  RefuseField(name, no_such +
                        "the dataset has no such field, or LoaderOptions::output.fields leaves it "
                        "out" +
                        NamesInstead(name, names, "the batch has"));
}

}  // namespace sluice
