// The classes of a finished dataset, for sources that take its numbers
// (ConvertSource::label.classes_of).
#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/schema.h>

namespace sluice {

struct DatasetClasses {
  // Of the label. Without one, of the first other field that has them: several labels, the classes
  // of boxes, or a mask (without its background). Empty if no field has classes.
  std::vector<std::string> label;
  // Of each field with the role label, by the field's name.
  std::map<std::string, std::vector<std::string>> fields;
};

DatasetClasses ClassesIn(const Schema& schema);

// Reads the manifest of a dataset in a folder or at a URL. Throws Error, also if the dataset has no
// classes.
DatasetClasses ClassesOfDataset(const std::filesystem::path& dataset, const std::stop_token& stop);

}  // namespace sluice
