#include "tests/tools/jpeg_facts.h"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include <jpeglib.h>

namespace sluice::test {
namespace {

[[noreturn]] void Fail(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  throw std::runtime_error(text);
}

}  // namespace

JpegFacts ReadJpeg(std::span<const std::byte> file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = Fail;
  jpeg_create_decompress(&info);
  const auto done = [&info](void*) { jpeg_destroy_decompress(&info); };
  const std::unique_ptr<void, decltype(done)> guard(&info, done);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  JpegFacts facts;
  facts.width = info.image_width;
  facts.height = info.image_height;
  facts.components = info.num_components;
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&info);
  facts.restart_interval = info.restart_interval;
  facts.luma_width_factor = info.comp_info[0].h_samp_factor;
  facts.luma_step = info.comp_info[0].quant_table->quantval[0];
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
      const JBLOCKARRAY rows = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info),
                                                            arrays[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < component.width_in_blocks; ++x) {
        facts.coefficients.insert(facts.coefficients.end(), rows[0][x], rows[0][x] + DCTSIZE2);
      }
    }
  }
  return facts;
}

JpegFacts ReadJpeg(std::string_view file) {
  return ReadJpeg(std::as_bytes(std::span(file.data(), file.size())));
}

}  // namespace sluice::test
