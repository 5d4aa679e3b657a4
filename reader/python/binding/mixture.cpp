// Several datasets played as one.
#include <sluice/mixture.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

// As the stub names them.
class Parts : public nb::object {
  static bool Any(nb::handle) { return true; }

 public:
  NB_OBJECT_DEFAULT(Parts, nb::object,
                    "collections.abc.Iterable[Dataset | str | os.PathLike[str] | "
                    "tuple[Dataset | str | os.PathLike[str], float]]",
                    Any)
};

Dataset DatasetOf(nb::handle source) {
  if (nb::isinstance<Dataset>(source)) return nb::cast<Dataset>(source);
  const auto path = nb::cast<std::filesystem::path>(source);
  return WithoutGil([&] { return Dataset::Open(path); });
}

// A dataset or its path, or a pair of that and a weight.
Mixture::Part PartOf(nb::handle part) {
  if (!nb::isinstance<nb::tuple>(part)) return {DatasetOf(part)};
  const auto pair = nb::borrow<nb::tuple>(part);
  if (pair.size() != 2) {
    throw Error(ErrorCode::kInvalidArgument,
                "Mixture: a part is a dataset, or a pair of a dataset and its weight");
  }
  return {DatasetOf(pair[0]), nb::cast<double>(pair[1])};
}

void MakeMixture(Mixture* self, const Parts& parts, MixtureShares shares, MixtureLength length,
                 std::uint64_t samples) {
  Mixture mixture;
  for (const nb::handle part : parts)
    mixture.parts.push_back(PartOf(part));
  mixture.shares = shares;
  mixture.length = length;
  mixture.samples = samples;
  new (self) Mixture(std::move(mixture));
}

}  // namespace

void BindMixture(nb::module_& module) {
  nb::enum_<MixtureShares>(module, "MixtureShares", "What a weight of a Mixture is a share of")
      .value("OF_SAMPLES", MixtureShares::kOfSamples)
      .value("OF_EACH_BATCH", MixtureShares::kOfEachBatch,
             "each batch has the same number of samples of each dataset");
  nb::enum_<MixtureLength>(module, "MixtureLength", "How long an epoch with weights is")
      .value("FIRST", MixtureLength::kFirst, "until each sample of the first dataset has come once")
      .value("SHORTEST", MixtureLength::kShortest, "until the first dataset is through")
      .value("SAMPLES", MixtureLength::kSamples, "Mixture(samples=...)");
  nb::class_<Mixture>(
      module, "Mixture",
      "Several datasets played as one: Loader(Mixture([(photos, 0.7), (drawings, 0.3)]), 256). A "
      "part is a Dataset or its path, alone or with a weight; without weights, an epoch has every "
      "sample of every dataset once. Fields are matched by name; samples are numbered through all "
      "datasets.")
      .def("__init__", &MakeMixture, "parts"_a, nb::kw_only(),
           "shares"_a.noconvert() = MixtureShares::kOfSamples,
           "length"_a.noconvert() = MixtureLength::kFirst, "samples"_a = 0)
      .def("__len__", [](const Mixture& mixture) { return mixture.parts.size(); })
      .def(
          "of",
          [](const Mixture& mixture, std::uint64_t sample) {
            const Mixture::Origin origin = mixture.Of(sample);
            return std::pair(origin.part, origin.sample);
          },
          "sample"_a, "The number of the dataset that a sample is from, and its number there")
      .def("__repr__", [](const Mixture& mixture) {
        return "Mixture of " + std::to_string(mixture.parts.size()) + " datasets";
      });
}

}  // namespace sluice::python
