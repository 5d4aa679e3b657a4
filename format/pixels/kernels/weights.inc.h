// Filter weights. Included once for each instruction set, inside a namespace of its own. Plain
// loops over a few outputs at a time, which compilers vectorise. IEEE arithmetic without fused
// multiply-adds: every set gives the same weights.

// The sample that a position lies in, clamped to [low, high].
SLUICE_INLINE std::int32_t SampleAt(double position, std::int32_t low, std::int32_t high) noexcept {
  // Truncation equals the floor for positions >= 0; for negative ones the result is `low` either
  // way.
  const auto whole = static_cast<std::int32_t>(position);
  return whole < low ? low : whole > high ? high : whole;
}

struct WeightGroup {
  static constexpr std::uint32_t kSize = kWeightGroup;
  float offset[kSize];          // from the output's centre to the first tap's
  float sum[kSize];             // of the shares that the filter gives the taps
  float unit[kSize];            // factor that makes the sum 65536
  std::int32_t value[kSize];    // weight of the current tap
  std::int32_t total[kSize];    // of the rounded weights
  std::int32_t largest[kSize];  // the largest rounded weight
  std::int32_t where[kSize];    // the tap that has it
  float carry[kSize];           // for many taps: what rounding has cut off the weights so far
};

// The share that the filter gives a tap at a distance.
SLUICE_INLINE float Share(float distance, float reach, float slope) noexcept {
  const float share = (reach - __builtin_fabsf(distance)) * slope;
  return share > 1 ? 1 : share > 0 ? share : 0;
}

// Rounds the weights of all taps.
template <bool kMany>
SLUICE_INLINE void RoundGroup(const WeightJob& job, std::uint32_t from, std::uint32_t count,
                              WeightGroup& group) noexcept {
  const auto reach = static_cast<float>(job.reach);
  const auto slope = static_cast<float>(job.slope);
  for (std::uint32_t t = 0; t < job.taps; ++t) {
    for (std::uint32_t j = 0; j < WeightGroup::kSize; ++j) {
      const float share = Share(group.offset[j] + static_cast<float>(t), reach, slope);
      const float exact = share * group.unit[j] + (kMany ? group.carry[j] : 0);
      const auto value = static_cast<std::int32_t>(exact + 0.5F);
      if (kMany) group.carry[j] = exact - static_cast<float>(value);
      group.value[j] = value;
      group.total[j] += value;
      group.where[j] = value > group.largest[j] ? static_cast<std::int32_t>(t) : group.where[j];
      group.largest[j] = value > group.largest[j] ? value : group.largest[j];
    }
    std::uint16_t* to = job.values + std::size_t{from} * job.taps + t;
    for (std::uint32_t j = 0; j < count; ++j, to += job.taps)
      *to = static_cast<std::uint16_t>(group.value[j]);
  }
}

// Makes `count` outputs from `from` on, in the order in which they are wanted.
inline void MakeGroup(const WeightJob& job, std::uint32_t from, std::uint32_t count,
                      WeightGroup& group) noexcept {
  constexpr std::uint32_t kSize = WeightGroup::kSize;
  // Positions are in double precision; distances, which are small, need no more than single.
  const auto reach = static_cast<float>(job.reach);
  const auto slope = static_cast<float>(job.slope);
  const std::int32_t last_begin = job.extent - static_cast<std::int32_t>(job.taps);
  const double first_centre =
      job.start + (job.mirrored ? job.out - 0.5 - from : from + 0.5) * job.scale;
  const double step = job.mirrored ? -job.scale : job.scale;
  std::int32_t begin[kSize];
  for (std::uint32_t j = 0; j < kSize; ++j) {
    const double centre = first_centre + static_cast<std::int32_t>(j) * step;
    // `first` is the first sample whose centre lies within the reach. Every tap is read, so the run
    // of taps must lie inside the samples that exist: it is moved left if needed, over samples that
    // get no weight.
    const std::int32_t first =
        SampleAt(centre - job.reach + 0.5, job.bound, job.bound_end - 1) - job.first;
    begin[j] = first < last_begin ? first : last_begin;
    group.offset[j] = static_cast<float>(job.first + begin[j] + 0.5 - centre);
    group.sum[j] = 0;
    group.total[j] = group.where[j] = 0;
    group.largest[j] = -1;
    group.carry[j] = 0;
  }
  std::memcpy(job.begin + from, begin, count * sizeof(begin[0]));
  for (std::uint32_t t = 0; t < job.taps; ++t) {
    for (std::uint32_t j = 0; j < kSize; ++j)
      group.sum[j] += Share(group.offset[j] + static_cast<float>(t), reach, slope);
  }
  for (std::uint32_t j = 0; j < kSize; ++j)
    group.unit[j] = group.sum[j] > 0 ? 65536.0F / group.sum[j] : 0;
  job.taps > kManyTaps ? RoundGroup<true>(job, from, count, group)
                       : RoundGroup<false>(job, from, count, group);
}

inline void MakeWeights(const WeightJob& job) {
  WeightGroup group;
  for (std::uint32_t from = 0; from < job.out; from += WeightGroup::kSize) {
    const std::uint32_t left = job.out - from;
    const std::uint32_t count = left < WeightGroup::kSize ? left : WeightGroup::kSize;
    MakeGroup(job, from, count, group);
    // The remainder of the rounding goes to the largest weight. A weight of 65536 does not fit into
    // 16 bits; 65535 is so close that it does not matter. If rounding pushed a region off the edge
    // of its samples, the nearest sample gets everything.
    for (std::uint32_t j = 0; j < WeightGroup::kSize; ++j) {
      const std::int32_t value = group.largest[j] + 65536 - group.total[j];
      group.value[j] = value < 0 ? 0 : value > 65535 ? 65535 : value;
      const bool beyond = group.sum[j] <= 0 && group.offset[j] < 0;
      group.where[j] = beyond ? static_cast<std::int32_t>(job.taps) - 1 : group.where[j];
    }
    std::uint16_t* to = job.values + std::size_t{from} * job.taps;
    for (std::uint32_t j = 0; j < count; ++j, to += job.taps)
      to[group.where[j]] = static_cast<std::uint16_t>(group.value[j]);
  }
}
