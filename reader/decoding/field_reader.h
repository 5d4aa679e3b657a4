// Reads a sample's fields other than its picture into its row of a slot.
#pragma once

#include <string>
#include <vector>

#include "format/pixels/decode.h"
#include "format/pixels/nearest.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/instance_painter.h"
#include "reader/decoding/picture_painter.h"
#include "reader/decoding/row_sources.h"

namespace sluice {

// Each worker thread has one.
class FieldReader {
 public:
  // `recipe` must outlive it.
  explicit FieldReader(const BatchRecipe& recipe);

  // Bytes of memory that it takes at most, besides the decoder's: a mask decoded whole, its crops
  // before turning and before warping, and one payload.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe);

  // The functions below fill the row, in this order. Those that return a fault say what is wrong
  // with the sample; the fault's sentence lives until the next call.

  // Reads the fields of variable length, as they are stored. `verify`: compare payloads with their
  // checksums.
  ValueFault ReadVariables(const RowSources& sources, Slot& slot, std::size_t row, bool verify);
  // The boxes that follow the image of that field, for the steps that look at them; null if there
  // is no such step. Call it before the image's frame is computed.
  PictureBoxes* FindBoxes(Slot& slot, std::size_t row, std::size_t field,
                          const PictureExtent& picture);
  // Sets the frame through which the sample's image of that field was decoded.
  void SetPicture(std::size_t field, const ImagePayload& payload, const Frame& frame);
  // Reads the images that are not the batch's picture, and moves boxes and key points.
  // `whole_payloads`: compare the checksums of tiled images, too, of which otherwise only the tiles
  // that are read are compared.
  ValueFault ReadImagesAndMove(Slot& slot, std::size_t row, PayloadDecoder& decoder,
                               bool whole_payloads);

  // Decodes a mask, without mixing pixels. Where other images get a border of one colour, the mask
  // gets the value with the bits `fill`.
  Defect DecodeMask(const ImagePayload& payload, const Frame& frame, std::uint32_t fill,
                    PixelOrder order, std::uint8_t* target, PayloadDecoder& decoder) {
    return DecodeMask(payload, frame, fill, order, target, decoder, view_painter_, {});
  }

  // Begins to read one of the row's samples. Call JoinPart() once a part but the first has been
  // read and moved: it adds the part's values to those of the parts before.
  void BeginPart(Slot& slot, std::size_t row, std::size_t part);
  ValueFault JoinPart(Slot& slot, std::size_t row);
  // The payloads that have been used since BeginPart().
  const std::vector<Bytes>& payloads() const noexcept { return payloads_; }
  // The field that was found faulty since BeginPart(); Schema::kNone if none was.
  std::size_t faulty() const noexcept { return faulty_; }
  // How many objects BoxRule::most has left out so far.
  std::uint64_t left_out_objects() const noexcept { return left_out_objects_; }
  // Whether a step looks at boxes, so that fields must be read before the picture.
  bool precede_picture() const noexcept { return needs_boxes_; }
  // Whether there is nothing to read or to move.
  bool empty() const noexcept {
    return layout_.variables.empty() && layout_.images.size() == layout_.views &&
           followers_.empty();
  }

 private:
  struct Picture {
    std::uint32_t width = 0, height = 0;  // 0: the sample lacks this image
    Frame frame;
    PictureBoxes boxes;  // if a step looks at them
  };

  // The painter of an image that keeps what it has painted of a row from part to part.
  ViewPainter& PainterOf(std::size_t image) noexcept {
    return part_painters_.empty() ? view_painter_ : part_painters_[image];
  }
  ViewPainter::Part PartOf(const Slot& slot, std::size_t row) const noexcept {
    return {part_ == 0, part_ + 1 == PartsOf(slot, row)};
  }
  ValueFault ReadVariable(Slot& slot, std::size_t row, std::size_t variable);
  ValueFault ReadImage(Slot& slot, std::size_t row, std::size_t index, PayloadDecoder& decoder);
  Defect DecodeMask(const ImagePayload& payload, const Frame& frame, std::uint32_t fill,
                    PixelOrder order, std::uint8_t* target, PayloadDecoder& decoder,
                    ViewPainter& painter, const ViewPainter::Part& part);
  ValueFault MoveBoxes(Slot& slot, std::size_t row, const Followers::Boxes& boxes);
  // Paints the objects of the boxes that kept_ keeps.
  ValueFault PaintInstances(Slot& slot, std::size_t row, const Followers::Boxes& boxes);
  // Applies BoxRule::most to the boxes that kept_ keeps.
  void KeepLargestOf(const Followers::Boxes& boxes, std::span<std::byte> bytes);
  // Takes the boxes that kept_ does not keep out of the row, and their entries in other fields;
  // also out of the instances, if these have an object for each box.
  ValueFault Drop(Slot& slot, std::size_t row, const Followers::Boxes& boxes, bool of_instances);
  ValueFault MovePoints(Slot& slot, std::size_t row, const Followers::Points& points);
  std::span<std::byte> NumbersOf(Slot& slot, std::size_t row, const Followers::Numbers& numbers);
  ValueFault Fault(std::size_t field, const std::string& what,
                   ErrorCode code = ErrorCode::kCorrupt);

  const DatasetState& dataset_;
  const SlotLayout& layout_;
  const Geometry& geometry_;
  const BoxRule& box_rule_;
  const Followers& followers_;
  const std::vector<std::uint64_t>& max_instances_;
  const bool needs_boxes_;
  std::vector<Picture> pictures_;  // by field of the schema
  std::vector<Bytes> payloads_;
  const RowSources* sources_ = nullptr;  // of the current row
  const ValueLimits* limits_ = nullptr;  // of the current row
  bool verify_ = true, whole_payloads_ = true;
  std::vector<std::uint8_t> kept_;   // by box of the current field: 0 if BoxRule drops the box
  std::vector<ShownMask> masks_;     // by box, if BoxRule looks at masks
  std::vector<std::uint8_t> whole_;  // a mask, decoded whole
  NearestSampler nearest_;
  InstancePainter instance_painter_;
  std::vector<std::uint64_t> max_painted_;  // by layout variable: bytes of a sample's instances
  std::uint64_t left_out_objects_ = 0;
  ViewPainter view_painter_;
  std::vector<ViewPainter> part_painters_;  // by image; empty unless rows have several parts
  WidePainter wide_painter_;
  std::string sentence_;
  std::size_t faulty_ = Schema::kNone;
  std::size_t part_ = 0;
  // By variable field: whether a row has it from all of its samples, or from its own alone; then
  // the values of the parts before, and whether there were any.
  std::vector<std::uint8_t> joined_;
  std::vector<std::vector<std::byte>> before_;
  std::vector<std::uint8_t> had_;
};

}  // namespace sluice
