// Preprocess: from an image to the row of a batch, for programs that serve a trained model.
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
// The row has the bytes of Loader::Row() for a sample whose stored image has the same bytes, on
// every CPU.
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

// A function that reads an image file: ImageFileReader() makes one. One thread at a time calls it.
// Its result must stay valid until the next call, if the file's bytes stay valid so long. An
// exception that it throws must derive from std::exception; it becomes the error of the row
// (kUnsupported, unless it is an Error).
using ImageReader = std::function<ImagePayload(std::span<const std::byte> file)>;

// Makes an ImageReader, for images of that many channels and at most that many pixels.
using MakeImageReader = std::function<ImageReader(unsigned channels, std::uint64_t max_pixels)>;

// The options of a Preprocess.
struct PreprocessOptions {
  // sluice::ImageFileReader (<sluice/image_file.h>, of sluice::writer). Empty: only stored images
  // and decoded ones are served.
  MakeImageReader image_files;
  // The threads that Rows() divides its images among, the calling one included. 0: one for each CPU
  // that this process may use.
  unsigned threads = 0;
  // Images of more pixels are refused before memory is taken for them, and so are rows, unless they
  // have at most 178 million.
  std::uint64_t max_pixels = 178'000'000;
};

// Why a row of Preprocess::Rows() could not be made.
struct RowFault {
  std::size_t row = 0;  // the image's place in the call
  bool late = false;    // the deadline came before a thread began with the image
  Error error;          // what is wrong with the image
};

// Makes rows. Any number of threads may call it at once. It keeps the memory that its calls work
// in. So a call allocates nothing if three things hold: earlier calls had images as large; as many
// calls have run at the same time before; and its images are raw pixels, packed, or baseline JPEGs
// without Exif or XMP.
class Preprocess {
 public:
  // `pipeline`: the JSON of Loader::PipelineText(); or a pipeline as ParsePipeline() reads it,
  // which makes RGB images, channels last. Throws Error(kInvalidArgument) for text that is neither,
  // for random steps (a server has no use for augmentations: use the validation's pipeline), and
  // for steps that do not determine the size of the row.
  explicit Preprocess(std::string_view pipeline, PreprocessOptions options = {});
  ~Preprocess();                      // no call may be under way
  Preprocess(Preprocess&&) noexcept;  // the moved-from object may only be destroyed or assigned to
  Preprocess& operator=(Preprocess&&) noexcept;

  // The shape and type of `samples` rows, with `data` null: height, width, channels, layout, type.
  ImageBatch shape(std::size_t samples = 1) const noexcept;
  std::size_t row_bytes() const noexcept;  // size of a row
  std::string PipelineText() const;        // the pipeline as JSON, as Loader::PipelineText() has it

  // Makes the row of an image file, in the calling thread. Errors: kInvalidArgument (`row` does not
  // have row_bytes(); or the pipeline does not resize, and this image has a different size),
  // kCorrupt, kUnsupported, kLimit (max_pixels), kMemory, kState (PreprocessOptions::image_files is
  // empty).
  void Row(std::span<const std::byte> file, std::span<std::byte> row) const;
  // The same for an image as a dataset stores it (Sample::Payload()), or for a decoded one: codec
  // kRaw, whose bytes are height x width x channels values of 8 bits.
  void Row(const ImagePayload& image, std::span<std::byte> row) const;

  // Makes the rows of several files. `rows` has row_bytes() for each file. The calling thread and
  // this object's threads divide the images among them. Returns the faults, sorted by row; rows
  // with a fault are zeros. Once `within` has passed since the call, no thread begins another
  // image; so the call takes at most `within` plus the time of one image. Throws
  // Error(kInvalidArgument) if `rows` does not have that size, and Error(kState) as above.
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
