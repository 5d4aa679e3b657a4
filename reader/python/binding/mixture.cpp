// Several datasets played as one. Python gives the parts as datasets, paths or pairs with a weight,
// or as a dict, and reads them as it could have written them, so that a Mixture can be shown and
// pickled: a dataset with the default limits becomes its path. Two mistakes would pass unnoticed
// and are refused here: a weight of 0, which the library takes for no weight; and a single path,
// which Python would iterate over letter by letter.
#include <sluice/mixture.h>

#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

using Parts = Stated<
    "collections.abc.Iterable[Dataset | str | os.PathLike[str] | "
    "tuple[Dataset | str | os.PathLike[str], float]]">;

Dataset DatasetOf(nb::handle source) {
  if (nb::isinstance<Dataset>(source)) return nb::cast<Dataset>(source);
  std::filesystem::path path;
  if (!nb::try_cast(source, path)) {
    throw nb::type_error(("Mixture: a part is a Dataset or its path, alone or with a weight, not " +
                          Utf8Of(nb::repr(source)))
                             .c_str());
  }
  return OpenDataset(path);
}

// Number `number` of the parts: a dataset or its path, or a pair of that and a weight.
Mixture::Part PartOf(nb::handle part, std::size_t number) {
  if (!nb::isinstance<nb::tuple>(part)) return {DatasetOf(part)};
  const auto pair = nb::borrow<nb::tuple>(part);
  if (pair.size() != 2) {
    throw Error(ErrorCode::kInvalidArgument,
                "Mixture: a part is a dataset, or a pair of a dataset and its weight");
  }
  double weight = 0;
  if (!nb::try_cast(pair[1], weight)) {
    throw nb::type_error(("Mixture: the weight of dataset " + std::to_string(number) +
                          " is a number, not " + Utf8Of(nb::repr(pair[1])))
                             .c_str());
  }
  Mixture::Part made{DatasetOf(pair[0]), weight};
  if (made.weight == 0) {  // the library would take 0 for no weight
    throw Error(ErrorCode::kInvalidArgument,
                "Mixture: the weight of dataset " + std::to_string(number) + " (" +
                    made.dataset.path().string() +
                    ") is 0; leave the dataset out, or leave out all weights to play every sample "
                    "once");
  }
  return made;
}

// The parts for reading Mixture.parts, as a caller would write them: a dataset by its path, or as
// the Dataset if its limits are not the default ones; with its weight if it has one.
Parts PartsOf(const Mixture& mixture) {
  nb::list parts;
  for (const auto& [dataset, weight] : mixture.parts) {
    const bool usual = dataset.limits() == ReadLimits();
    const nb::object shown = usual ? TextOf(dataset.path().string()) : nb::cast(dataset);
    parts.append(weight == 0 ? shown : nb::make_tuple(shown, weight));
  }
  return nb::borrow<Parts>(parts);
}

void SetParts(Mixture& mixture, const Parts& parts) {
  if (nb::isinstance<nb::str>(parts) || nb::isinstance<Dataset>(parts)) {
    throw nb::type_error(
        ("Mixture: parts is a list of datasets, not one: " + Utf8Of(nb::repr(parts))).c_str());
  }
  std::vector<Mixture::Part> made;
  // A dict has the weights as its values, which iterating over it would leave out.
  const nb::object pairs =
      nb::isinstance<nb::dict>(parts) ? parts.attr("items")() : nb::borrow(parts);
  for (const nb::handle part : pairs)
    made.push_back(PartOf(part, made.size()));
  mixture.parts = std::move(made);
}

}  // namespace

void BindMixture(nb::module_& module) {
  Words<MixtureShares>(module, "MixtureShares",
                       "The whole that a weight of a Mixture is a share of")
      .value("OF_SAMPLES", MixtureShares::kOfSamples)
      .value("OF_EACH_BATCH", MixtureShares::kOfEachBatch,
             "each batch has the same number of samples of each dataset");
  Words<MixtureLength>(module, "MixtureLength", "How long an epoch with weights is")
      .value("FIRST", MixtureLength::kFirst, "until each sample of the first dataset has come once")
      .value("SHORTEST", MixtureLength::kShortest, "until one dataset has given all its samples")
      .value("SAMPLES", MixtureLength::kSamples, "Mixture(samples=...)");
  ByKeywords(
      nb::class_<Mixture>(
          module, "Mixture",
          "Several datasets played as one: Loader(Mixture([(photos, 0.7), (drawings, 0.3)]), 256). "
          "A part is a Dataset or its path, alone or with a weight; a dict {photos: 0.7, drawings: "
          "0.3} is taken, too. Without weights, an epoch has "
          "every sample of every dataset once. Samples are numbered through all datasets. Fields "
          "are matched by name. If a dataset lacks a field, its samples hold OutputOptions.absent "
          "as label or number, no entries as list, and OutputOptions.mask_fill as mask. If these "
          "are not set, and OutputOptions.fields does not leave the field out, the mixture is "
          "refused."),
      Mixture(), Required(Keyword{"parts", &PartsOf, &SetParts}),
      Member("shares", &Mixture::shares), Member("length", &Mixture::length),
      Member("samples", &Mixture::samples))
      .def("__len__", [](const Mixture& mixture) { return Copied(mixture).parts.size(); })
      .def(
          "of",
          [](const Mixture& mixture, std::uint64_t sample) {
            const Mixture::Origin origin = Copied(mixture).Of(sample);
            return std::pair(origin.part, origin.sample);
          },
          "sample"_a,
          "The index of the dataset that the sample is from, and its number in that dataset");
}

}  // namespace sluice::python
