// Makes the row of a batch from an image, for programs that serve a trained model.
//
// A model must see in production what it saw in validation. The training writes its pipeline, and
// the server reads it, so no step is written down twice:
//
//   std::ofstream("model/pipeline.json") << validation_loader.PipelineText();   // the training
//
//   #include <sluice/image_file.h>                                             // of sluice::writer
//   sluice::Preprocess preprocess(pipeline, {.image_files = sluice::ImageFileReader});
//   std::vector<std::byte> row(preprocess.row_bytes());
//   preprocess.Row(file, row);                                                 // the server
//
// On every CPU, the row has the same bytes that Loader::Row() makes of the same stored image.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/image.h>

namespace sluice {

// A function that reads an image file: ImageFileReader() makes one. Only one thread at a time calls
// it. Its result may point into the file's bytes, or into memory of its own; that memory must stay
// valid until the next call. Its exceptions must derive from std::exception. An exception becomes
// the error of the row (kUnsupported, unless it is an Error).
using ImageReader = std::function<ImagePayload(std::span<const std::byte> file)>;

// Makes an ImageReader for images of `channels` channels and at most `max_pixels` pixels.
using MakeImageReader = std::function<ImageReader(unsigned channels, std::uint64_t max_pixels)>;

// The options of a Preprocess.
struct PreprocessOptions {
  // The function that makes readers of image files: sluice::ImageFileReader (<sluice/image_file.h>,
  // of sluice::writer). Empty: only stored and decoded images are served.
  MakeImageReader image_files;
  // The number of threads among which Rows() divides its images, the calling thread included. 0:
  // one for each CPU that this process may use.
  unsigned threads = 0;
  // Images of more pixels are refused before memory is taken for them. A pipeline is refused if its
  // rows have more pixels than the larger of this limit and 178 million.
  std::uint64_t max_pixels = 178'000'000;
};

// Why a row of Preprocess::Rows() could not be made.
struct RowFault {
  std::size_t row = 0;  // the image's place in the call
  bool late = false;    // the deadline came before a thread began with the image
  Error error;          // what is wrong with the image
};

// A pipeline that makes the rows of single images. Any number of threads may call a Preprocess at
// once.
//
// A Preprocess keeps the memory that its calls work in. So a call allocates nothing if all of these
// hold:
//
//   earlier calls had images as large;
//   as many calls have run at the same time before;
//   the images are raw pixels, packed, or baseline JPEGs without Exif or XMP.
class Preprocess {
 public:
  // `pipeline` is the JSON of Loader::PipelineText(), or a text for ParsePipeline(). Such a text
  // makes RGB images with the channels last. Throws Error(kInvalidArgument) for any other text, for
  // steps that do not determine the size of the row, and for random steps. (A server has no use for
  // augmentations: use the pipeline of the validation.)
  explicit Preprocess(std::string_view pipeline, PreprocessOptions options = {});
  ~Preprocess();                      // no call may be under way
  Preprocess(Preprocess&&) noexcept;  // the moved-from object may only be destroyed or assigned to
  Preprocess& operator=(Preprocess&&) noexcept;

  // The height, width, channels, layout and type of `samples` rows; `data` is null.
  ImageBatch shape(std::size_t samples = 1) const noexcept;
  std::size_t row_bytes() const noexcept;  // size of a row
  std::string PipelineText() const;        // the pipeline as JSON, as Loader::PipelineText()
  // The names of the classes, by number, that the pipeline's JSON carries; empty if it has none.
  const std::vector<std::string>& classes() const noexcept;

  // Makes the row of an image file, in the calling thread. Errors:
  //
  //   kInvalidArgument   `row` does not have row_bytes() bytes; or the pipeline does not resize,
  //                      and the image has another size
  //   kLimit             the image has more than max_pixels pixels
  //   kState             PreprocessOptions::image_files is empty
  //   kCorrupt, kUnsupported, kMemory
  void Row(std::span<const std::byte> file, std::span<std::byte> row) const;
  // The same for an image as a dataset stores it (Sample::Payload()), or for a decoded image: codec
  // kRaw, with height x width x channels values of 8 bits as its bytes.
  void Row(const ImagePayload& image, std::span<std::byte> row) const;

  // Makes the rows of several files, one after another in `rows`, which has row_bytes() for each
  // file. The calling thread and this object's threads divide the images among them. Returns the
  // faults, sorted by row. A row with a fault is zeros.
  //
  // Once `within` has passed since the call, no thread begins another image. So the call takes at
  // most `within` plus the time of one image. Throws Error(kInvalidArgument) if `rows` does not
  // have the right size, and Error(kState) as Row() does.
  std::vector<RowFault> Rows(std::span<const std::span<const std::byte>> files,
                             std::span<std::byte> rows,
                             std::optional<std::chrono::microseconds> within = {}) const;
  // The same for stored or decoded images.
  std::vector<RowFault> Rows(std::span<const ImagePayload> images, std::span<std::byte> rows,
                             std::optional<std::chrono::microseconds> within = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
