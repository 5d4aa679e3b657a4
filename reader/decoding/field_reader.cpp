// Reads all fields of a sample except its picture. Variable fields are checked and decompressed
// into the row; other images go through the frame of the image that they belong to. Then key points
// and boxes are moved by the frame of their image. Points come first, because a box that BoxRule
// drops takes its points and its entries of other fields with it. If the rule looks at masks, all
// instances are painted before boxes are judged; otherwise only those of boxes that are kept.
#include "reader/decoding/field_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "format/disk/zstd.h"
#include "reader/reading/memory.h"

namespace sluice {

namespace {

// Before the reader decompresses a value larger than this, it asks whether the machine has memory
// left for two copies of it: in the row and in the batch. Asking costs a small share of
// decompressing it.
constexpr std::uint64_t kLargeValue = std::uint64_t{64} << 20;

// Makes a value of so many objects without a shape, for a sample that has boxes and no value.
void SetShapeless(std::size_t objects, std::vector<std::byte>& value) {
  InstancesBuilder builder;
  for (std::size_t i = 0; i < objects; ++i)
    builder.BeginObject();
  builder.Finish(value);
}

// Appends the objects of a row's instances to those of the parts before.
void JoinInstances(const std::vector<std::byte>& value, std::vector<std::byte>& before) {
  InstancesBuilder joined;
  for (const std::vector<std::byte>* const part : {&std::as_const(before), &value}) {
    Instances instances;
    if (part->empty() || instances.Open(*part, 0, 0) != nullptr) continue;
    for (std::size_t i = 0; i < instances.size(); ++i)
      joined.AddObject(instances.BytesOf(i));
  }
  joined.Finish(before);
}

// Takes out the objects that are not kept.
void CompactInstances(std::vector<std::byte>& value, const std::vector<std::uint8_t>& kept) {
  Instances instances;
  if (instances.Open(value, 0, 0) != nullptr) return;
  InstancesBuilder left;
  for (std::size_t i = 0; i < instances.size(); ++i)
    if (kept[i] != 0) left.AddObject(instances.BytesOf(i));
  left.Finish(value);
}

}  // namespace

FieldReader::FieldReader(const BatchRecipe& recipe)
    : dataset_(recipe.dataset),
      layout_(recipe.layout),
      geometry_(recipe.views[0].geometry),
      box_rule_(recipe.options.output.boxes),
      followers_(recipe.followers),
      max_instances_(recipe.max_instances),
      needs_boxes_(std::ranges::any_of(
          recipe.views,
          [](const ViewProgram& view) { return !view.geometry.boxes_step().empty(); })),
      pictures_(dataset_.facts->manifest.schema.fields.size()),
      part_painters_(layout_.parts > 1 ? layout_.images.size() : 0),
      before_(layout_.variables.size()),
      had_(layout_.variables.size()) {
  for (const SlotLayout::VariableField& field : layout_.variables)
    joined_.push_back(field.field != Schema::kNone && (!field.bytes || field.instances) &&
                      recipe.choice.leaders[field.field] == recipe.choice.image);
  for (const SlotLayout::VariableField& field : layout_.variables) {
    const bool instances = field.instances && field.field != Schema::kNone;
    max_painted_.push_back(
        instances ? recipe.MaxPaintedBytes(field, dataset_.facts->limits.bytes(field.field)) : 0);
  }
}

void FieldReader::BeginPart(Slot& slot, std::size_t row, std::size_t part) {
  payloads_.clear();
  faulty_ = Schema::kNone;
  if (std::exchange(part_, part) == part || part == 0) return;  // read again, or nothing before
  for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
    before_[v].swap(slot.variables[v].rows[row]);
    had_[v] = slot.variables[v].present[row];
  }
}

ValueFault FieldReader::JoinPart(Slot& slot, std::size_t row) {
  // Object i belongs to box i, so parts with boxes and without instances get objects.
  for (const Followers::Boxes& boxes : followers_.boxes) {
    if (!boxes.variable || joined_[boxes.index] == 0) continue;
    const std::size_t bytes = layout_.variables[boxes.index].entry_bytes;
    const std::size_t here = slot.variables[boxes.index].rows[row].size() / bytes;
    for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
      if (!layout_.variables[v].instances) continue;
      std::vector<std::byte>& value = slot.variables[v].rows[row];
      if (slot.variables[v].present[row] == had_[v]) continue;
      if (had_[v] == 0)
        SetShapeless(before_[boxes.index].size() / bytes, before_[v]);
      else
        SetShapeless(here, value);
    }
    break;
  }
  for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
    VariableRows& variable = slot.variables[v];
    std::vector<std::byte>& value = variable.rows[row];
    if (layout_.variables[v].instances) {
      JoinInstances(value, before_[v]);
      had_[v] |= variable.present[row];
    } else if (joined_[v] != 0) {
      before_[v].insert(before_[v].end(), value.begin(), value.end());
      had_[v] |= variable.present[row];
    }
    value.swap(before_[v]);
    variable.present[row] = had_[v];
  }
  for (const Followers::Boxes& boxes : followers_.boxes) {
    if (!boxes.variable) continue;
    const auto entries = [&](std::size_t v) {
      return slot.variables[v].rows[row].size() / layout_.variables[v].entry_bytes;
    };
    for (const std::size_t v : boxes.companions) {
      if (slot.variables[v].present[row] == 0 || entries(v) == entries(boxes.index)) continue;
      return Fault(layout_.variables[v].field,
                   "the sample or one before it in its mosaic has boxes without their entries in "
                   "this field, and others have them");
    }
    if (!box_rule_.most) continue;
    kept_.assign(entries(boxes.index), 1);
    KeepLargestOf(boxes, slot.variables[boxes.index].rows[row]);
    if (const ValueFault fault = Drop(slot, row, boxes, true)) return fault;
  }
  return {};
}

std::uint64_t FieldReader::MemoryBytes(const BatchRecipe& recipe) {
  const SlotLayout& layout = recipe.layout;
  const DatasetFacts& dataset = recipe.dataset;
  std::uint64_t max = 0, kept = 0;
  for (std::size_t i = 0; i < layout.images.size(); ++i) {
    const SlotLayout::ImageField& field = layout.images[i];
    if (!field.nearest) {
      if (field.wide && i >= layout.views)
        max = std::max(max, WidePainter::MemoryBytes(layout, dataset.limits.pixels(field.field), i,
                                                     recipe.views[0].geometry));
      continue;
    }
    const ImageSummary& masks = dataset.ImagesOf(field.field);
    const std::uint64_t pixels = dataset.limits.pixels(field.field);
    // Decoded whole from a zstd frame that was inflated whole; before a warp, once more.
    const std::uint64_t pictures = recipe.views[0].geometry.warping_step().empty() ? 2 : 3;
    max = std::max(max, pictures * pixels * masks.max_channels * SizeOf(masks.pixel_type) +
                            2 * field.image.sample_bytes() + masks.max_payload_bytes);
    if (layout.parts == 1) continue;
    // A mosaic's masks are painted part by part, each before its warp; a part is made by itself.
    const std::uint64_t values = masks.max_channels * SizeOf(masks.pixel_type);
    const std::uint64_t canvas = CanvasPixels(recipe.options.transform, recipe.options.schedule);
    kept += (recipe.views[0].geometry.warping_step().empty() ? 0 : canvas * values);
    max += std::max(canvas * values, std::uint64_t{field.image.sample_bytes()});
  }
  const auto instances = [](const SlotLayout::VariableField& field) { return field.instances; };
  if (!layout.images.empty() && std::ranges::any_of(layout.variables, instances)) {
    const ImageBatch& row = layout.picture().image;
    kept += InstancePainter::MemoryBytes(dataset.limits.pixels(layout.picture_field()),
                                         std::uint64_t{row.width} * row.height);
  }
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (!field.instances || field.field == Schema::kNone) continue;
    // The painter's value, the row's and the one that is being made of these, each while its memory
    // grows. A mosaic's parts are joined in the same way.
    const std::uint64_t stored = dataset.limits.bytes(field.field);
    const std::uint64_t painted = recipe.MaxPaintedBytes(field, stored);
    kept += 4 * painted;
    if (layout.parts > 1) kept += 3 * (painted + recipe.MaxInstanceBytes(field, stored));
  }
  return max + kept;
}

ValueFault FieldReader::Fault(std::size_t field, const std::string& what, ErrorCode code) {
  faulty_ = field;
  // A fault holds a pointer, so that a sample without a fault costs nothing; the text lives here
  // until the next fault.
  sentence_ = "field \"" + dataset_.facts->manifest.schema.fields[field].name + "\": " + what;
  return {sentence_.c_str(), code};
}

void FieldReader::SetPicture(std::size_t field, const ImagePayload& payload, const Frame& frame) {
  Picture& picture = pictures_[field];
  picture.width = payload.width;
  picture.height = payload.height;
  picture.frame = frame;
}

ValueFault FieldReader::ReadVariables(const RowSources& sources, Slot& slot, std::size_t row,
                                      bool verify) {
  verify_ = verify;
  sources_ = &sources;
  limits_ = &dataset_.facts->LimitsOf(RefOf(slot, row, part_).shard);
  for (std::size_t v = 0; v < layout_.variables.size(); ++v)
    if (const ValueFault fault = ReadVariable(slot, row, v)) return fault;
  return {};
}

PictureBoxes* FieldReader::FindBoxes(Slot& slot, std::size_t row, std::size_t field,
                                     const PictureExtent& picture) {
  if (!needs_boxes_) return nullptr;
  PictureBoxes& found = pictures_[field].boxes;
  found = {};
  const auto of_field = [field](const Followers::Boxes& boxes) { return boxes.leader == field; };
  const auto boxes = std::ranges::find_if(followers_.boxes, of_field);
  if (boxes == followers_.boxes.end()) return &found;
  WithNumbers(boxes->doubles, NumbersOf(slot, row, *boxes), [&]<class T>(std::span<T> numbers) {
    ReadBoxes(std::span<const T>(numbers), boxes->coordinates, picture, found);
  });
  return &found;
}

ValueFault FieldReader::ReadImagesAndMove(Slot& slot, std::size_t row, PayloadDecoder& decoder,
                                          bool whole_payloads) {
  whole_payloads_ = whole_payloads;
  for (std::size_t i = layout_.views; i < layout_.images.size(); ++i) {
    if (const ValueFault fault = ReadImage(slot, row, i, decoder)) return fault;
  }
  for (const Followers::Points& points : followers_.points)
    if (const ValueFault fault = MovePoints(slot, row, points)) return fault;
  for (const Followers::Boxes& boxes : followers_.boxes)
    if (const ValueFault fault = MoveBoxes(slot, row, boxes)) return fault;
  return {};
}

ValueFault FieldReader::ReadVariable(Slot& slot, std::size_t row, std::size_t variable) {
  const SlotLayout::VariableField& field = layout_.variables[variable];
  std::vector<std::byte>& value = slot.variables[variable].rows[row];
  // The slot is reused, so the row still has the values of an earlier batch.
  value.clear();
  slot.variables[variable].present[row] = 0;
  if (field.field == Schema::kNone || (part_ > 0 && joined_[variable] == 0)) return {};
  const RowSources::Place* const place = sources_->Of(field.field);
  if (place == nullptr) return {};
  const BlockView& block = place->block;
  BlockView::Payload payload;
  if (const Defect defect = block.GetPayload(*place->layout, place->record, field.field, payload)) {
    return Fault(field.field, defect);
  }
  const auto codec = static_cast<Codec>(payload.entry.codec);
  slot.variables[variable].present[row] = codec != Codec::kAbsent;
  if (codec == Codec::kAbsent) return {};
  payloads_.push_back(payload.bytes);
  if (verify_ && !block.Matches(payload.bytes, payload.entry.checksum)) {
    return Fault(field.field, "the checksum does not match: the shard is damaged");
  }
  if (const Defect defect = BlockView::CheckContentCodec(payload))
    return Fault(field.field, defect);
  // Limits are checked before the memory is taken: a damaged or hostile size must not cost more.
  if (codec == Codec::kRaw) {
    if (const ValueFault over = limits_->CheckBytes(field.field, payload.bytes.size()))
      return Fault(field.field, over.what, over.code);
    value.assign(payload.bytes.begin(), payload.bytes.end());
  } else {
    const std::optional<std::uint64_t> size = ZstdContentBytes(payload.bytes);
    if (!size) return Fault(field.field, "no usable zstd frame");
    if (const ValueFault over = limits_->CheckBytes(field.field, *size))
      return Fault(field.field, over.what, over.code);
    if (*size > kLargeValue && 2 * *size > AvailableMemory()) {
      return Fault(field.field,
                   "there is not enough memory for its " + std::to_string(*size) +
                       " bytes; leave the field out of LoaderOptions::output.fields",
                   ErrorCode::kMemory);
    }
    value.resize(*size);
    if (!ZstdDecompress(payload.bytes, value)) {
      return Fault(field.field, "the zstd frame cannot be decompressed");
    }
  }
  if (value.size() % field.entry_bytes != 0) {
    return Fault(field.field, "it does not hold a whole number of entries");
  }
  return {};
}

ValueFault FieldReader::ReadImage(Slot& slot, std::size_t row, std::size_t index,
                                  PayloadDecoder& decoder) {
  const SlotLayout::ImageField& field = layout_.images[index];
  const ImageBatch& image = slot.images[index].image;
  Picture& picture = pictures_[field.field];
  picture.width = picture.height = 0;
  ImagePayload payload;
  std::uint64_t checksum = 0;
  const RowSources::Place* const place = sources_->Of(field.field);
  if (place != nullptr) {
    if (const Defect defect =
            place->block.GetImage(*place->layout, place->record, field.field, payload, checksum)) {
      return Fault(field.field, defect);
    }
  }
  const bool present = payload.codec != Codec::kAbsent;
  std::uint8_t& has = slot.images[index].present[row];
  has = present || (part_ > 0 && has != 0);
  const ViewPainter::Part part = PartOf(slot, row);
  std::vector<VisiblePart>& shown = slot.images[index].shown;
  const Picture& leader = pictures_[field.leader];
  if (!present) {
    if (field.required && leader.width != 0) {
      return Fault(
          field.field,
          "the sample has no mask, so its mask would be class 0 everywhere; set "
          "LoaderOptions::output.mask_fill for it to a number that your loss ignores, such "
          "as 255, or choose only samples with a mask",
          ErrorCode::kInvalidArgument);
    }
    // An absent image takes the size of the image that it belongs to, filled with its number.
    if (layout_.image_sizes != ImageSizes::kEqual)
      SetRowSize(slot, index, row, leader.frame.width(), leader.frame.height());
    if (!part.alone()) {  // its part keeps the number that fills the row
      if (!shown.empty() && part.first) shown[row] = VisiblePart(leader.frame);
      const auto nothing = [](const Region&, std::uint8_t*, bool) {};
      const auto bytes = static_cast<std::uint32_t>(SizeOf(image.type));
      PainterOf(index).PaintMask(
          nothing, leader.frame, bytes, field.fill,
          {PixelsOf(slot, index, row), static_cast<std::uint32_t>(image.channels), OrderOf(image)},
          part);
      return {};
    }
    const ImageBatch absent = RowOf(slot, index, row);
    if (!shown.empty()) {
      shown[row] = VisiblePart(static_cast<std::uint32_t>(absent.width),
                               static_cast<std::uint32_t>(absent.height));
    }
    const std::size_t value_bytes = SizeOf(absent.type);
    SetValues(PixelsOf(slot, index, row), absent.sample_bytes() / value_bytes,
              static_cast<std::uint32_t>(value_bytes), field.fill);
    return {};
  }
  payloads_.push_back(payload.bytes);
  if (const ValueFault over = limits_->CheckImage(field.field, payload))
    return Fault(field.field, over.what, over.code);
  if (payload.pixel_type != field.pixels) {
    return Fault(field.field,
                 "the image's pixel type differs from that of the field's other images");
  }
  // The tiles that are read are compared one by one.
  const bool by_tiles = payload.codec == Codec::kTiled && !field.nearest && !whole_payloads_;
  if (verify_ && !by_tiles && !place->block.Matches(payload.bytes, checksum)) {
    return Fault(field.field, "the image's checksum does not match: the shard is damaged");
  }
  if (field.leader != field.field && leader.width == 0) {
    return Fault(field.field, "the sample lacks the image that this one belongs to");
  }
  Frame frame;
  if (field.leader == field.field) {
    frame =
        geometry_.FrameFor(payload.width, payload.height, slot.draw_seed, slot.positions[row],
                           geometry_.RowStage(slot.stages[0], slot.draw_seed, slot.positions[row]),
                           FindBoxes(slot, row, field.field, {payload.width, payload.height}),
                           static_cast<std::uint16_t>(part_));
  } else {
    // A mask may be stored at another resolution than its image; its region is scaled to it.
    frame = leader.frame;
    frame.region =
        Scaled(leader.frame.region, leader.width, leader.height, payload.width, payload.height);
  }
  if (!SetRowSize(slot, index, row, frame.width(), frame.height()))
    return Fault(field.field, "the image's size is not the one in the manifest");
  std::uint8_t* const target = PixelsOf(slot, index, row);
  SetPicture(field.field, payload, frame);
  if (!shown.empty()) ShowPart(frame, part_, shown[row]);
  const PixelOrder order = OrderOf(image);
  if (field.nearest && payload.channels != image.channels) {
    return Fault(field.field, "the mask has another number of channels than the rest of the field");
  }
  const auto decode = [&](const Region& region, const PixelTarget& row_target) {
    return decoder.Decode(payload, region, row_target);
  };
  static const PixelProgram kNoSteps{Pipeline{}};
  const auto paint_wide = [&] {
    const Defect defect = WidePainter::Open(payload, decoder.wide(), field);
    return defect != nullptr
               ? defect
               : wide_painter_.Paint(payload, decoder.wide(), frame, field, {}, order, target);
  };
  const Defect defect =
      field.nearest
          ? DecodeMask(payload, frame, field.fill, order, target, decoder, PainterOf(index), part)
      : field.wide ? paint_wide()
                   : PainterOf(index).Paint(
                         decode, frame, kNoSteps, {},
                         {target, static_cast<std::uint32_t>(image.channels), order}, part);
  return defect == nullptr ? ValueFault() : Fault(field.field, defect);
}

Defect FieldReader::DecodeMask(const ImagePayload& payload, const Frame& frame, std::uint32_t fill,
                               PixelOrder order, std::uint8_t* target, PayloadDecoder& decoder,
                               ViewPainter& painter, const ViewPainter::Part& part) {
  const std::uint32_t value_bytes = static_cast<std::uint32_t>(SizeOf(payload.pixel_type));
  const std::size_t bytes =
      std::size_t{payload.width} * payload.height * payload.channels * value_bytes;
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(payload.bytes.data());
  if (payload.codec != Codec::kRaw || payload.bytes.size() != bytes) {
    whole_.resize(bytes);
    if (const Defect defect =
            decoder.Decode(payload, Region::Whole(payload.width, payload.height),
                           {whole_.data(), payload.channels, PixelOrder::kInterleaved})) {
      return defect;
    }
    pixels = whole_.data();
  }
  const MaskView mask{pixels, payload.width, payload.height, payload.channels, value_bytes, fill};
  const auto sample = [&](const Region& region, std::uint8_t* data, bool keeps_border) {
    nearest_.Sample(mask, region, order, data, keeps_border);
  };
  painter.PaintMask(sample, frame, value_bytes, fill, {target, payload.channels, order}, part);
  return nullptr;
}

std::span<std::byte> FieldReader::NumbersOf(Slot& slot, std::size_t row,
                                            const Followers::Numbers& numbers) {
  if (numbers.variable) return slot.variables[numbers.index].rows[row];
  const SlotLayout::ArrayField& array = layout_.arrays[numbers.index];
  if (sources_->Of(array.field) == nullptr) return {};
  return {slot.memory.data() + array.offset + row * array.sample_bytes, array.sample_bytes};
}

ValueFault FieldReader::MoveBoxes(Slot& slot, std::size_t row, const Followers::Boxes& boxes) {
  const Picture& picture = pictures_[boxes.leader];
  const std::span<std::byte> bytes = NumbersOf(slot, row, boxes);
  if (bytes.empty()) {
    kept_.clear();
    return PaintInstances(slot, row, boxes);
  }
  if (picture.width == 0) {
    return {"the sample has boxes but not the image that they belong to"};
  }
  if (boxes.stay) {
    kept_.assign(bytes.size() / layout_.variables[boxes.index].entry_bytes, 1);
    return PaintInstances(slot, row, boxes);
  }
  const PointMap map(picture.frame, picture.width, picture.height);
  // Steps look at the first field of boxes.
  const auto same_leader = [&](const Followers::Boxes& other) {
    return other.leader == boxes.leader;
  };
  std::span<const std::uint8_t> dropped;
  if (needs_boxes_ && &*std::ranges::find_if(followers_.boxes, same_leader) == &boxes)
    dropped = picture.boxes.dropped;
  const bool by_masks = LooksAtMasks(box_rule_) && !boxes.instances.empty();
  masks_.clear();
  if (by_masks) {
    kept_.assign(bytes.size() / layout_.variables[boxes.index].entry_bytes, 1);
    masks_.resize(kept_.size());
    if (const ValueFault fault = PaintInstances(slot, row, boxes)) return fault;
  }
  WithNumbers(boxes.doubles, bytes, [&](auto numbers) {
    MapBoxes(numbers, boxes.coordinates, map, {box_rule_, dropped, masks_}, kept_);
  });
  KeepLargestOf(boxes, bytes);
  // Boxes in an array of fixed shape all stay; only lists can become shorter.
  if (!boxes.variable) return {};
  if (!by_masks) {
    if (const ValueFault fault = PaintInstances(slot, row, boxes)) return fault;
  }
  return Drop(slot, row, boxes, by_masks);
}

void FieldReader::KeepLargestOf(const Followers::Boxes& boxes, std::span<std::byte> bytes) {
  if (!box_rule_.most) return;
  WithNumbers(boxes.doubles, bytes, [&](auto numbers) {
    left_out_objects_ += KeepLargest(numbers, boxes.coordinates, *box_rule_.most, kept_);
  });
}

ValueFault FieldReader::Drop(Slot& slot, std::size_t row, const Followers::Boxes& boxes,
                             bool of_instances) {
  for (const std::size_t v : boxes.companions) {
    const SlotLayout::VariableField& field = layout_.variables[v];
    std::vector<std::byte>& value = slot.variables[v].rows[row];
    if (slot.variables[v].present[row] == 0) continue;
    const std::size_t entries = value.size() / field.entry_bytes;
    if (entries != kept_.size()) {
      return Fault(field.field, "it has " + std::to_string(entries) +
                                    (entries == 1 ? " entry" : " entries") + " for " +
                                    std::to_string(kept_.size()) +
                                    (kept_.size() == 1 ? " box" : " boxes") +
                                    "; when a box is dropped, its entry must be dropped with it");
    }
    Compact(value, field.entry_bytes, kept_);
  }
  for (const std::size_t v : boxes.instances) {
    std::vector<std::byte>& value = slot.variables[v].rows[row];
    if (slot.variables[v].present[row] == 0) continue;
    if (of_instances) CompactInstances(value, kept_);
    if (value.size() > max_instances_[v]) return Fault(layout_.variables[v].field, kLongOutlines);
  }
  // Last, because the companions were compared with the number of boxes before dropping.
  Compact(slot.variables[boxes.index].rows[row], layout_.variables[boxes.index].entry_bytes, kept_);
  return {};
}

ValueFault FieldReader::PaintInstances(Slot& slot, std::size_t row, const Followers::Boxes& boxes) {
  const Picture& picture = pictures_[boxes.leader];
  for (const std::size_t v : boxes.instances) {
    const SlotLayout::VariableField& field = layout_.variables[v];
    std::vector<std::byte>& value = slot.variables[v].rows[row];
    if (slot.variables[v].present[row] == 0) {
      const auto kept = static_cast<std::size_t>(std::ranges::count(kept_, std::uint8_t{1}));
      if (kept > 0) SetShapeless(kept, value);
      slot.variables[v].present[row] = kept > 0 ? 1 : 0;
      continue;
    }
    Instances instances;
    if (const Defect defect = instances.Open(value, picture.width, picture.height))
      return Fault(field.field, defect);
    if (instances.size() != kept_.size()) {
      return Fault(field.field, "it has " + std::to_string(instances.size()) + " objects for " +
                                    std::to_string(kept_.size()) + " boxes");
    }
    if (picture.width == 0) continue;  // no boxes and no image
    const PointMap map(picture.frame, picture.width, picture.height);
    std::vector<std::byte> painted;
    if (const Defect defect = instance_painter_.Paint(instances, picture.frame, map, kept_,
                                                      max_painted_[v], painted)) {
      return Fault(field.field, defect);
    }
    value.swap(painted);
    if (v == boxes.instances.front() && !masks_.empty())
      std::ranges::copy(instance_painter_.shown(), masks_.begin());
  }
  return {};
}

ValueFault FieldReader::MovePoints(Slot& slot, std::size_t row, const Followers::Points& points) {
  const Picture& picture = pictures_[points.leader];
  const std::span<std::byte> bytes = NumbersOf(slot, row, points);
  if (bytes.empty()) return {};
  if (picture.width == 0) {
    return {"the sample has key points but not the image that they belong to"};
  }
  const PointMap map(picture.frame, picture.width, picture.height);
  WithNumbers(points.doubles, bytes,
              [&](auto numbers) { MapPoints(numbers, points.shape, points.coordinates, map); });
  return {};
}

}  // namespace sluice
