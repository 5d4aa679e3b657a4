// The fields of a .beton file: their descriptions, and where their values lie in a row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/schema.h>

#include "format/disk/bytes.h"

namespace sluice {

struct BetonField {
  enum class Kind : std::uint8_t { kFloat, kInteger, kImage, kBytes, kArray, kJson };

  std::string name;
  Kind kind = Kind::kInteger;
  std::optional<DType> dtype;        // of kFloat and kArray; nullopt: one that datasets do not have
  std::vector<std::uint64_t> shape;  // of kArray
  std::uint64_t bytes = 0;           // of kArray: of its payload
  std::size_t at = 0;                // in a row
};

// Throws Error (a sentence without a file): kUnsupported (a type of one's own), kCorrupt.
BetonField ParseBetonField(Bytes description);

// Sets where the fields lie in a row, as numpy aligns them; returns the bytes of a row.
std::size_t PlaceBetonFields(std::vector<BetonField>& fields);

// An array's elements.
nlohmann::json BetonNumbers(const BetonField& field, Bytes content);

}  // namespace sluice
