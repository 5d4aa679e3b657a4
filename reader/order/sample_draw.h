// The ways to make an epoch's list of samples, behind SampleList.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "reader/order/give_up.h"
#include "reader/order/mixture_plan.h"

namespace sluice {

// The same samples in every epoch.
struct FixedDraw {
  std::vector<std::uint64_t> samples;
};

struct WeightedDraw {
  std::vector<std::uint64_t> weights;  // whole numbers, whose sum is less than 2^63
  std::uint64_t count = 0;
  bool replacement = false;
};

// Whole numbers in proportion to the weights, as exactly as a sum below 2^63 allows. The weights
// must be finite and not negative.
std::vector<std::uint64_t> WholeWeights(const std::vector<double>& weights);

struct BalancedDraw {
  std::vector<std::vector<std::uint64_t>> classes;  // the samples of each, none of them empty
  std::uint64_t per_class = 0;
};

// Of datasets mixed by weight. No list is made of them: see mixture_order.h.
struct MixtureDraw {
  std::shared_ptr<const MixturePlan> plan;
};

using SampleDraw = std::variant<FixedDraw, WeightedDraw, BalancedDraw, MixtureDraw>;

// Samples in an epoch; UINT64_MAX if the number does not fit 64 bits.
std::uint64_t CountOf(const SampleDraw& draw) noexcept;

// The samples of an epoch: those of a FixedDraw as they were given, others in ascending order. Not
// of a MixtureDraw.
std::vector<std::uint64_t> Draw(const SampleDraw& draw, std::uint64_t seed, std::uint64_t epoch,
                                GiveUp give_up = nullptr);

}  // namespace sluice
