#include "reader/transform/step_check.h"

#include <cmath>

#include "format/disk/limits.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/step_text.h"

namespace sluice {

namespace {

bool Within(double value, const Limits& limits) {
  return (limits.open_least ? value > limits.least : value >= limits.least) &&
         (limits.open_most ? value < limits.most : value <= limits.most);
}

// Keeps the error of the first parameter outside its limits.
class Checking final : public ParameterList {
 public:
  const std::string& wrong() const noexcept { return wrong_; }

  void Size(std::uint32_t& width, std::uint32_t& height) override {
    if (width == 0 || height == 0 || width > kMaxImageSide || height > kMaxImageSide)
      Say("a width and height of 1 to 65535 pixels", NumberText(width) + "x" + NumberText(height));
  }
  void Number(const char* name, double& value, Limits limits, Told) override {
    if (Within(value, limits)) return;
    const bool chance = name == std::string("probability");
    Say(chance ? "a probability of 0 to 1" : Between(limits, name), NumberText(value));
  }
  void Range(const char* name, double& low, double& high, Limits limits, Told) override {
    if (Within(low, limits) && Within(high, limits) && low <= high) return;
    const std::string names = "min_" + std::string(name) + " <= max_" + name;
    Say(Between(limits, names), NumberText(low) + " and " + NumberText(high));
  }
  void Shift(double& x, double& y, Limits limits) override {
    if (!Within(x, limits)) Say(Between(limits, "translate_x"), NumberText(x));
    if (!Within(y, limits)) Say(Between(limits, "translate_y"), NumberText(y));
  }

 private:
  static std::string Between(const Limits& limits, const std::string& what) {
    return NumberText(limits.least) + (limits.open_least ? " < " : " <= ") + what +
           (limits.open_most ? " < " : " <= ") + NumberText(limits.most);
  }
  void Say(const std::string& needs, const std::string& has) {
    if (wrong_.empty()) wrong_ = "needs " + needs + ", and has " + has;
  }

  std::string wrong_;
};

}  // namespace

std::string WrongParameter(const Transform& step) {
  return std::visit(
      []<class Step>(Step op) {
        Checking checking;
        StepOf<Step>::List(op, checking);
        std::string wrong = checking.wrong();
        if (wrong.empty()) {
          if (const char* const beside = StepOf<Step>::Wrong(op)) wrong = beside;
        }
        return wrong.empty() ? wrong : StepOf<Step>::kName + (" " + wrong);
      },
      step);
}

void CheckParameters(const Transform& step) {
  if (const std::string wrong = WrongParameter(step); !wrong.empty()) RefuseTransform(wrong);
}

}  // namespace sluice
