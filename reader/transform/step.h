// What a step of a pipeline is declared by: StepOf<Step>, of which each step has one in a file of
// its own in steps/. Checking parameters, Loader::Describe(), ParsePipeline() and the programs that
// run are made of it. To add a step: its struct in the public header, its file, a line in
// all_steps.h and one in the variant Transform.
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

// Of a number. NaN is never within.
struct Limits {
  double least = 0, most = 0;
  bool open_least = false, open_most = false;  // that number itself is outside
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

// How Loader::Describe() tells a parameter.
enum class Told {
  kAlways,          // as a number alone
  kIfUnusual,       // the same, where it is not the default
  kNamed,           // behind its name
  kNamedIfUnusual,  // the same, where it is not the default
};

// A step lists its parameters to one of these: what checks, describes or reads them. Names are the
// members', without min_ and max_; a step's text form names those that it can set.
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
  // low <= high. A text form that names it once sets both, to -x and x. One that names it twice may
  // leave the second out, which is the first then.
  virtual void Range(const char*, double& /*low*/, double& /*high*/, Limits, Told = Told::kAlways) {
  }
  // Along both axes, the parameter "shift". A text form sets them alike.
  virtual void Shift(double& /*x*/, double& /*y*/, Limits) {}
  // By channel. Told if it is not black.
  virtual void Colour(const char*, std::array<std::uint8_t, 3>&) {}
  virtual void Channels(std::vector<float>&) {}
  // Its name is the word that sets it.
  virtual void Flag(const char*, bool&) {}
  // Told in quotes behind the word, unless it is empty.
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

// Which part of the loader takes a step, in the order in which they stand.
enum class StepKind : std::uint8_t {
  kGeometric,  // Geometry: moves pixels
  kPixels,     // PixelProgram: changes them where they are
  kNumbers,    // PixelProgram: Normalize
  kBatch,      // BatchProgram: labels and whole batches
};

// kName: the type's. kText: the text form, its name and the parameters that follow, in brackets if
// they may be left out. kDraws: part of every draw's counter, never changed. kRuns: where it is
// done, for Loader::Describe(). List(step, list): its parameters. Then its program, as its kind has
// it (framing.h, pixel_step.h).
template <class Step>
struct StepOf;

// What holds of a step unless its declaration says otherwise.
struct AnyStep {
  // What is wrong beside the limits of single parameters, as what follows the step's name in a
  // sentence; nullptr: nothing.
  static const char* Wrong(const auto&) { return nullptr; }
};
struct BatchStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kBatch;
  static constexpr const char* kRuns = "over the batch, when its last sample is done";
};

}  // namespace sluice
