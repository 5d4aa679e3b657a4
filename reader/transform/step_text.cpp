#include "reader/transform/step_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "reader/transform/all_steps.h"

namespace sluice {

namespace {

std::string TextOf(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// Makes the text between the brackets of "Name(24, 0.5, words)".
class Telling final : public ParameterList {
 public:
  void Size(std::uint32_t& width, std::uint32_t& height) override {
    Add(TextOf(width) + ", " + TextOf(height));
  }
  void Number(const char* name, double& value, Limits, Told told) override {
    Add(name, TextOf(value), told);
  }
  void Range(const char* name, double& low, double& high, Limits, Told told) override {
    const bool named = told == Told::kNamed || told == Told::kNamedIfUnusual;
    Add(name, TextOf(low) + (named ? " to " : ", ") + TextOf(high), told);
  }
  void Shift(double& x, double& y, Limits) override {
    Add("shift", TextOf(x) + " by " + TextOf(y), Told::kNamedIfUnusual);
  }
  void Colour(const char* name, std::array<std::uint8_t, 3>& colour) override {
    Add(name, TextOf(colour[0]) + "/" + TextOf(colour[1]) + "/" + TextOf(colour[2]),
        Told::kNamedIfUnusual);
  }
  void Channels(std::vector<float>& numbers) override {
    std::string text;
    for (const float number : numbers) {
      std::array<char, 32> one;
      const auto end = std::to_chars(one.data(), one.data() + one.size(), number).ptr;
      text += (text.empty() ? "" : "/") + std::string(one.data(), end);
    }
    Add(text);
  }
  void Flag(const char* word, bool& value) override {
    if (value) Add(word);
  }
  void Name(const char* before, std::string& name) override {
    if (!name.empty()) Add(std::string(before) + " \"" + name + "\"");
  }

  // Without parameters that equal those of `usual`, if defaults are not described.
  std::string TextBeside(const Telling& usual) const {
    std::string text;
    for (const Piece& piece : pieces_) {
      const auto same = [&piece](const Piece& other) { return other.text == piece.text; };
      if (piece.if_unusual && std::any_of(usual.pieces_.begin(), usual.pieces_.end(), same))
        continue;
      text += (text.empty() ? "" : ", ") + piece.text;
    }
    return text;
  }

 private:
  struct Piece {
    std::string text;
    bool if_unusual;
  };
  void Choose(std::size_t& index, std::initializer_list<Word> words) override {
    Add(words.begin()[index].told);
  }
  void Add(const std::string& text) { pieces_.push_back({text, false}); }
  void Add(const char* name, const std::string& text, Told told) {
    const bool named = told == Told::kNamed || told == Told::kNamedIfUnusual;
    pieces_.push_back({named ? name + (" " + text) : text,
                       told == Told::kIfUnusual || told == Told::kNamedIfUnusual});
  }

  std::vector<Piece> pieces_;
};

}  // namespace

std::string NumberText(double value) {
  return TextOf(value);
}

std::string StepText(const Transform& step) {
  return std::visit(
      []<class Step>(Step op) {
        Telling own, usual;
        Step other;
        StepOf<Step>::List(op, own);
        StepOf<Step>::List(other, usual);
        return std::string(StepOf<Step>::kName) + "(" + own.TextBeside(usual) + ")";
      },
      step);
}

std::string StepName(const Transform& step) {
  return std::visit([]<class Step>(const Step&) { return std::string(StepOf<Step>::kName); }, step);
}

const char* HowItRuns(const Transform& step) {
  return std::visit(
      []<class Step>(const Step& op) {
        if constexpr (requires { op.border; }) {
          if (op.border == Border::kReflect)
            return "fused with decoding, then the border is filled";
        }
        return StepOf<Step>::kRuns;
      },
      step);
}

}  // namespace sluice
