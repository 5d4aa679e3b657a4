// The declaration of a pipeline's step: StepOf<Step>, in the file of its kind in steps/. All that
// the loader knows of a step comes from there: parameter checks, Loader::Describe(),
// ParsePipeline(), the programs that run, what may follow what, memory, and what
// LoaderOptions::keep may keep.
//
// A new step needs a struct in the public header of its kind, a declaration in steps/, and a
// program (described below, by kind). It also goes into these files, where "equalize" shows how:
//   reader/include/sluice/transform.h     the variant Transform
//   reader/include/sluice/pixel_transform.h  or the header of its kind
//   reader/python/binding/steps.cpp
//   reader/python/sluice/_names.py        if another library calls it by another name
//   reader/TRANSFORMS.md                  its table, its probability, torchvision's name
//   tools/docs/pictures.py                a picture of it for that page
//   reader/DRAWS.md                       the number of its kind, and its draws
//   tests/reader/draws_by_document.py     its draws; makes draws_by_document.inc
//   tests/reader/step_declarations_test.cpp
//   tests/reader/parse_pipeline_test.cpp  its numbers as text
//   tests/reader/preprocess_test.cpp      and as JSON
//   bench/parts/transforms.cpp            EveryStep()
//   tests/reader/distribution_test.cpp    this and the rest only if it changes pixels
//   tests/device/device_steps_test.cpp
//   tests/device/cuda_test.cpp            on a card
//   tests/pixels/steps_test.cpp           against Pillow, or a formula
//   tests/pixels/steps_by_pillow.py       makes steps_by_pillow.inc
//   format/pixels/steps/steps.h           this and the rest only for a new operation
//   format/pixels/steps/steps.cpp         its arithmetic
//   reader/transform/pixel_op.h
//   reader/transform/pixel_steps.cpp
//   reader/transform/steps/colours.h      or the file of its kind
//   reader/device/pixel_ops.h             FirstPhaseOf()
//   reader/device/pixel_ops_point.h       or pixel_ops_filter.h
//   tests/device/pixel_ops_test.cpp
//   tests/device/pixel_ops_case.h         NeedOfOps(), if it needs the whole picture
//   not format/pixels/steps/shared.inc.h  a part of Equalize that the device has, too
//   not reader/transform/augment.*        torchvision says which operations its steps draw
//   not tests/reader/augment_*            likewise
//
// Equalize has no parameters of its own. A step that has some also has its refused values in
// tests/reader/pixel_program_test.cpp.
//
// A step's program, by its kind:
// - A geometric step changes the frame: Take() and its properties (GeometricStep in frame.h).
// - A step that changes pixels draws operations: Draw() (PixelStep). A new operation
//   (pixel_op.h) needs its arithmetic twice: for the host in format/pixels/steps/, called by
//   pixel_steps.cpp, and for a device in reader/device/pixel_ops_point.h or pixel_ops_filter.h.
//   FirstPhaseOf() in pixel_ops.h says whether it needs a pass over the picture first.
// - A step that mixes batches has Mix() (batch_mix.h). Another step for batches is run by
//   BatchProgram (reader/batch/batch_program.h).
// - NumberTable (number_table.h) is the program of Normalize, the only step for numbers.
//
// If a parameter's name in Python differs from the member's, FILLED_BY in
// tools/docs/python_reference.py says so.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <sluice/error.h>
#include <sluice/transform.h>

#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/pixel_op.h"

namespace sluice {

[[noreturn]] inline void RefuseTransform(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "transform: " + what);
}

inline double Between(double low, double high, RandomStream& draws) noexcept {
  return low + draws.Uniform() * (high - low);
}

// The range of a number. NaN is never inside.
struct Limits {
  double least = 0, most = 0;
  bool open_least = false, open_most = false;  // excludes the bound itself
  bool whole = false;
};
constexpr Limits AtLeast(double least, double most) {
  return {least, most};
}
constexpr Limits Above(double least, double most) {
  return {least, most, true};
}
constexpr Limits Inside(double least, double most) {
  return {least, most, true, true};
}

// How Loader::Describe() prints a parameter.
enum class Shown {
  kAlways,          // as a number alone
  kIfUnusual,       // as a number alone, and only if it is not the default
  kNamed,           // after its name
  kNamedIfUnusual,  // after its name, and only if it is not the default
};

// A step lists its parameters to a ParameterList, which checks, describes or reads them. Names are
// those of the members, without min_ and max_. A step's text form has the names of the parameters
// that it can set.
class ParameterList {
 public:
  struct Word {
    const char* text;   // in ParsePipeline()
    const char* shown;  // in Loader::Describe()
  };

  virtual ~ParameterList() = default;
  // Width and height, the parameter "size": 1 to 65535 pixels each, written N or WxH.
  virtual void Size(std::uint32_t&, std::uint32_t&) {}
  virtual void Number(const char*, double&, Limits, Shown = Shown::kAlways) {}
  // low <= high. The text form has the name once or twice. If once, a typed x sets low to -x and
  // high to x. If twice, the first number sets low and the second sets high, which equals low if
  // left out.
  virtual void Range(const char*, double& /*low*/, double& /*high*/, Limits,
                     Shown = Shown::kAlways) {}
  // Width and height, the parameter "size", both 0 if it is left out.
  virtual void SizeIfAny(std::uint32_t&, std::uint32_t&) {}
  // One or more numbers. In the text form, a "-" stands between them.
  virtual void Numbers(const char*, std::vector<double>&, Limits, Shown = Shown::kAlways) {}
  // Along both axes, the parameter "shift". A text form sets both to the same number.
  virtual void Shift(double& /*x*/, double& /*y*/, Limits) {}
  // By channel. Described if it is not black.
  virtual void Colour(const char*, std::array<std::uint8_t, 3>&) {}
  virtual void Channels(const char*, std::vector<float>&) {}
  // The word that sets a flag is the flag's name.
  virtual void Flag(const char*, bool&) {}
  // The lists of a RandomChoice, and their weights.
  virtual void Lists(std::vector<Pipeline>&, std::vector<double>&) {}
  // Described in quotes after the word, unless it is empty.
  virtual void Name(const char*, std::string&) {}

  template <std::unsigned_integral T>
  void Whole(const char* name, T& value, std::uint32_t least, std::uint32_t most,
             Shown shown = Shown::kAlways) {
    auto number = static_cast<double>(value);
    Number(name, number, {double(least), double(most), false, false, true}, shown);
    value = static_cast<T>(number);
  }
  void Wholes(const char* name, std::vector<std::uint32_t>& values, std::uint32_t least,
              std::uint32_t most) {
    std::vector<double> numbers(values.begin(), values.end());
    Numbers(name, numbers, {double(least), double(most), false, false, true});
    values.clear();
    for (const double number : numbers)
      values.push_back(static_cast<std::uint32_t>(number));
  }
  void Chance(double& probability, Shown shown = Shown::kAlways) {
    Number("probability", probability, AtLeast(0, 1), shown);
  }
  // The enum's values are the words' indices.
  template <class Enum>
  void Choice(Enum& value, std::initializer_list<Word> words) {
    auto index = static_cast<std::size_t>(value);
    Choose(index, words);
    value = static_cast<Enum>(index);
  }
  void Filtering(Filter& filter) { Choice(filter, {{"triangle", "triangle"}, {"area", "area"}}); }
  void Bordering(Border& border) {
    Choice(border, {{"constant", "border of one colour"}, {"reflect", "reflected border"}});
  }

 private:
  virtual void Choose(std::size_t& /*index*/, std::initializer_list<Word>) {}
};

// The kDraws of RandomChoice, which draws from the streams of geometric steps: the last of their
// kinds (Framing::kMaxKinds).
inline constexpr std::uint16_t kChoiceDraws = 15;

// The part of the loader that runs a step. In a pipeline, steps stand in this order.
enum class StepKind : std::uint8_t {
  kGeometric,  // Geometry: moves pixels
  kPixels,     // PixelProgram: changes values of pixels
  kNumbers,    // PixelProgram: Normalize
  kBatch,      // BatchProgram: labels and whole batches
  kChoice,     // RandomChoice: StagesOf() (steps.h) puts the steps of its lists in its place
};

// kName: the type's name. kText: the text form: its name, and the parameters that follow, in
// brackets if they may be left out. kDraws: part of every draw's counter, never to be changed.
// kRuns: where it runs, for Loader::Describe(). List(step, list): its parameters. Then its program,
// by its kind (frame.h, PixelStep below). What an existing step draws never changes:
// reader/DRAWS.md specifies it, and kDrawsVersion (sluice/version.h) is part of every state.
template <class Step>
struct StepOf;

// Defaults for all declarations.
struct AnyStep {
  // Says what is wrong with the step although each parameter is within its limits: the text follows
  // the step's name in a sentence. nullptr if nothing is wrong.
  static const char* Wrong(const auto&) { return nullptr; }
};
struct BatchStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kBatch;
  static constexpr const char* kRuns = "over the batch, when its last sample is done";
};

// The needs of operations on a device, besides each pixel's own values.
struct DeviceNeed {
  bool whole = false;           // they read the whole picture to change one pixel
  std::size_t spare_bytes = 0;  // extra memory for each value of the picture
};

inline PixelOp OpOf(PixelOpKind kind, float factor = 0, std::uint32_t number = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  op.number = number;
  return op;
}

// Defaults for the declaration of a step that changes pixels. Its program is Draw(step, shape,
// draws, ops), called once the step's probability has been drawn: it adds the step's operations for
// a picture of that shape. They are run on the host (pixel_steps.h) or on a device
// (reader/device/pixel_ops.h). Each declaration sets kMovesPixels: whether pixels leave their
// places, so that no mask or box can follow the picture.
struct PixelStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kPixels;
  static constexpr const char* kRuns = "a pass over the row's pixels";
  // The most entries that the step adds to PixelOps, those of kind kWords included.
  static std::size_t MaxOps(const auto&) { return 1; }
  static DeviceNeed Need(const auto&) { return {}; }
  // Throws Error(kInvalidArgument) if the step does not fit pictures of that size.
  static void CheckFits(const auto&, std::uint32_t, std::uint32_t) {}
  // The probability with which Draw() is called.
  static double ChanceOf(const auto& op) { return op.probability; }
  // Whether the step is also for wide images (IsWide): wide_steps.h runs its operations then.
  static bool FitsWide(const auto&) { return false; }
};
// A step that always adds the same single operation. Its probability is its only parameter.
template <PixelOpKind kOp>
struct PlainStep : PixelStep {
  static constexpr bool kMovesPixels = false;
  static void List(auto& op, ParameterList& list) { list.Chance(op.probability); }
  static void Draw(const auto&, const Pixels&, RandomStream&, PixelOps& ops) { ops.Add(OpOf(kOp)); }
};

}  // namespace sluice
