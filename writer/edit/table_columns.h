// The rows that a column is made of: of another dataset, or of a table.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/dataset_edit.h>

#include "format/disk/block.h"

namespace sluice {

class ColumnRows {
 public:
  virtual ~ColumnRows() = default;
  virtual std::string name() const = 0;  // of the source, for messages
  virtual const Schema& schema() const = 0;
  virtual std::uint64_t size() const = 0;
  // The values of a row, without a key. Throws Error that names the row.
  virtual EncodedSample Row(std::uint64_t row) = 0;
  // About how many bytes all rows take in blocks.
  virtual std::uint64_t Bytes() const = 0;
  // Calls visit(key) for each row, in order.
  virtual void ForEachKey(const std::function<void(std::string_view)>& visit) = 0;
  virtual std::string Place(std::uint64_t row) const = 0;
  // The rows in which ColumnOptions::missing took the place of an array that is null.
  virtual std::uint64_t gaps() const { return 0; }
};

// The elements of an array field in which all are `value`. Throws Error with that file unless the
// field can hold the value.
std::vector<std::byte> ElementsOf(const Field& field, double value, const std::string& file);

// A value of ColumnOptions::missing as the attribute of a field says it.
std::string MissingText(double value);

// Whether the name ends like that of a table.
bool IsTable(const std::filesystem::path& from);

// Reads the columns ColumnOptions::fields of a table into memory. `old`: the dataset's fields,
// which say how fields of the same names are stored. Throws Error that names the line or row.
std::unique_ptr<ColumnRows> OpenTableColumns(const std::filesystem::path& from,
                                             const ColumnOptions& options, const Schema& old,
                                             const std::stop_token& stop);

}  // namespace sluice
