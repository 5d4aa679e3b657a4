// The declaration of a pipeline's step: StepOf<Step>. Each step has one, in a file of its own in
// steps/. All that the loader knows of a step comes from there: parameter checks,
// Loader::Describe(), ParsePipeline(), the programs that run, what may follow what, memory, and
// what LoaderOptions::keep may keep.
//
// A new step is a struct in the public header of its kind, a declaration in steps/, and a program,
// by its kind, below. It also goes into these files, where "equalize" shows how:
//   reader/include/sluice/transform.h      the variant Transform
//   reader/include/sluice/pixel_transform.h  or the header of its kind
//   reader/transform/all_steps.h
//   reader/python/binding/steps.cpp
//   reader/TRANSFORMS.md
//   tests/reader/step_declarations_test.cpp
//   bench/parts/transforms.cpp             EveryStep()
//   tests/reader/distribution_test.cpp     this and the rest if it changes pixels
//   tests/device/device_steps_test.cpp
//   tests/device/pixel_ops_test.cpp        a new operation
//
// The programs:
// - A geometric step changes the frame: Take() and its properties (GeometricStep in framing.h).
// - A step that changes pixels draws operations: Draw() (pixel_step.h). A new operation
//   (pixel_op.h) needs its arithmetic twice: for the host in format/pixels/steps/, called by
//   run_pixel_op.cpp, and for a device in reader/device/pixel_ops*.h.
// - A step that mixes batches has Mix() (batch_mix.h). Another step for batches is run by
//   BatchProgram (reader/batch/batch_program.h).
// - NumberTable (number_table.h) is the program of Normalize, the only step for numbers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/step_parameters.h"

namespace sluice {

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
enum class Told {
  kAlways,          // as a number alone
  kIfUnusual,       // the same, but only if it is not the default
  kNamed,           // after its name
  kNamedIfUnusual,  // the same, but only if it is not the default
};

// A step lists its parameters to a ParameterList, which checks, describes or reads them. Names are
// those of the members, without min_ and max_. A step's text form has the names of the parameters
// that it can set.
class ParameterList {
 public:
  struct Word {
    const char* text;  // in ParsePipeline()
    const char* told;  // in Loader::Describe()
  };

  virtual ~ParameterList() = default;
  // Width and height, the parameter "size": 1 to 65535 pixels each, written N or WxH.
  virtual void Size(std::uint32_t&, std::uint32_t&) {}
  virtual void Number(const char*, double&, Limits, Told = Told::kAlways) {}
  // low <= high. If the text form has the name once, x sets them to -x and x. If it has it twice,
  // the second may be left out and then equals the first.
  virtual void Range(const char*, double& /*low*/, double& /*high*/, Limits, Told = Told::kAlways) {
  }
  // Along both axes, the parameter "shift". A text form sets both to the same number.
  virtual void Shift(double& /*x*/, double& /*y*/, Limits) {}
  // By channel. Described if it is not black.
  virtual void Colour(const char*, std::array<std::uint8_t, 3>&) {}
  virtual void Channels(std::vector<float>&) {}
  // The word that sets it is its name.
  virtual void Flag(const char*, bool&) {}
  // Described in quotes after the word, unless it is empty.
  virtual void Name(const char*, std::string&) {}

  template <std::unsigned_integral T>
  void Whole(const char* name, T& value, std::uint32_t least, std::uint32_t most,
             Told told = Told::kAlways) {
    auto number = static_cast<double>(value);
    Number(name, number, {double(least), double(most), false, false, true}, told);
    value = static_cast<T>(number);
  }
  void Chance(double& probability, Told told = Told::kAlways) {
    Number("probability", probability, AtLeast(0, 1), told);
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

// The part of the loader that runs a step. In a pipeline, steps stand in this order.
enum class StepKind : std::uint8_t {
  kGeometric,  // Geometry: moves pixels
  kPixels,     // PixelProgram: changes values of pixels
  kNumbers,    // PixelProgram: Normalize
  kBatch,      // BatchProgram: labels and whole batches
};

// kName: the type's name. kText: the text form: its name, and the parameters that follow, in
// brackets if they may be left out. kDraws: part of every draw's counter, never to be changed.
// kRuns: where it runs, for Loader::Describe(). List(step, list): its parameters. Then its program,
// by its kind (framing.h, pixel_step.h).
template <class Step>
struct StepOf;

// Defaults for all declarations.
struct AnyStep {
  // An error beyond the limits of single parameters, as the text after the step's name in a
  // sentence; nullptr if there is none.
  static const char* Wrong(const auto&) { return nullptr; }
};
struct BatchStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kBatch;
  static constexpr const char* kRuns = "over the batch, when its last sample is done";
};

}  // namespace sluice
