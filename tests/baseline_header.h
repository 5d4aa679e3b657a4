// Makes headers of baseline JPEGs.
#pragma once

#include <cstdint>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/huffman.h"

namespace sluice::test {

struct Form {
  std::uint32_t width = 0, height = 0, components = 3;
  int h = 2, v = 2;  // luma's sampling factors; those of chroma are 1
  int quality = 90;
  std::uint32_t interval = 0;  // between restart markers, in MCUs; 0: no markers
};

inline baseline::Header HeaderFor(const Form& form) {
  baseline::Header header;
  header.width = form.width;
  header.height = form.height;
  header.components = form.components;
  if (form.components == 3) {
    header.component[0].h = static_cast<std::uint8_t>(form.h);
    header.component[0].v = static_cast<std::uint8_t>(form.v);
  }
  for (std::uint32_t c = 0; c < form.components; ++c) {
    header.component[c].id = static_cast<std::uint8_t>(c + 1);
    header.component[c].quant = c == 0 ? 0 : 1;
  }
  header.restart_interval = form.interval;
  for (const std::size_t table : {0, 1})
    baseline::StandardSteps(table, form.quality, header.quant[table]);
  baseline::DeriveSizes(header);
  return header;
}

}  // namespace sluice::test
