#include "tests/newer_pictures.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#ifdef SLUICE_HAS_AVIF
#include <avif/avif.h>
#endif
#ifdef SLUICE_HAS_HEIF
#include <libheif/heif.h>
#endif
#ifdef SLUICE_HAS_JXL
#include <jxl/encode.h>
#endif
#ifdef SLUICE_HAS_JP2
#include <openjpeg.h>
#endif

namespace sluice::test {

namespace {

[[maybe_unused]] PictureFile TakenBytes(const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return {begin, begin + size};
}

[[maybe_unused]] void Must(bool done) {
  if (!done) throw std::runtime_error("an encoder of the tests failed");
}

}  // namespace

#ifdef SLUICE_HAS_AVIF
PictureFile AvifWith(const Picture& picture, const AvifForm& form) {
  avifImage* const image =
      avifImageCreate(picture.width, picture.height, form.depth,
                      form.grey ? AVIF_PIXEL_FORMAT_YUV400 : AVIF_PIXEL_FORMAT_YUV444);
  image->yuvRange = AVIF_RANGE_FULL;
  image->matrixCoefficients =
      form.grey ? AVIF_MATRIX_COEFFICIENTS_BT601 : AVIF_MATRIX_COEFFICIENTS_IDENTITY;
  if (!form.exif.empty()) {
    // This returns a result since libavif 1, and void in older versions.
    static_cast<void>(avifImageSetMetadataExif(
        image, reinterpret_cast<const std::uint8_t*>(form.exif.data()), form.exif.size()));
  }
  image->transformFlags = AVIF_TRANSFORM_NONE;  // setting Exif changed them
  if (form.angle >= 0) {
    image->transformFlags |= AVIF_TRANSFORM_IROT;
    image->irot.angle = static_cast<std::uint8_t>(form.angle);
  }
  if (form.mirror >= 0) {
    image->transformFlags |= AVIF_TRANSFORM_IMIR;
    std::memset(&image->imir, form.mirror,
                sizeof image->imir);  // its only member's name depends on the version
  }
  avifRGBImage rgb{};
  avifRGBImageSetDefaults(&rgb, image);
  rgb.depth = 8;
  rgb.format = picture.channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.pixels = const_cast<std::uint8_t*>(picture.pixels.data());
  rgb.rowBytes = picture.width * picture.channels;
  Must(avifImageRGBToYUV(image, &rgb) == AVIF_RESULT_OK);
  avifEncoder* const encoder = avifEncoderCreate();
  encoder->speed = AVIF_SPEED_FASTEST;
  encoder->minQuantizer = encoder->maxQuantizer = AVIF_QUANTIZER_LOSSLESS;
  encoder->minQuantizerAlpha = encoder->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
  avifRWData out = AVIF_DATA_EMPTY;
  const std::vector<const avifImage*> tiles(form.tiles, image);
  Must(avifEncoderAddImageGrid(encoder, form.tiles, 1, tiles.data(), AVIF_ADD_IMAGE_FLAG_SINGLE) ==
       AVIF_RESULT_OK);
  Must(avifEncoderFinish(encoder, &out) == AVIF_RESULT_OK);
  PictureFile file = TakenBytes(out.data, out.size);
  avifRWDataFree(&out);
  avifEncoderDestroy(encoder);
  avifImageDestroy(image);
  return file;
}

PictureFile Avif(const Picture& picture) {
  return AvifWith(picture, {});
}
#endif

#ifdef SLUICE_HAS_HEIF
PictureFile HeifWith(const Picture& picture, int orientation) {
  heif_context* const context = heif_context_alloc();
  heif_encoder* encoder = nullptr;
  PictureFile file;
  if (heif_context_get_encoder_for_format(context, heif_compression_HEVC, &encoder).code ==
      heif_error_Ok) {
    heif_encoder_set_lossless(encoder, 1);
    heif_encoder_set_parameter_string(encoder, "chroma", "444");
    heif_encoder_set_parameter_string(encoder, "preset", "ultrafast");
    heif_image* image = nullptr;
    const auto width = static_cast<int>(picture.width);
    const auto height = static_cast<int>(picture.height);
    const bool rgba = picture.channels == 4;
    heif_image_create(width, height, heif_colorspace_RGB,
                      rgba ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, &image);
    heif_image_add_plane(image, heif_channel_interleaved, width, height, 8);
    int stride = 0;
    std::uint8_t* const plane = heif_image_get_plane(image, heif_channel_interleaved, &stride);
    for (std::size_t y = 0; y < picture.height; ++y) {
      std::copy_n(picture.at(0, static_cast<std::uint32_t>(y)), picture.width * picture.channels,
                  plane + y * static_cast<std::size_t>(stride));
    }
    heif_encoding_options* const options = heif_encoding_options_alloc();
    heif_color_profile_nclx* const colours = heif_nclx_color_profile_alloc();
    colours->matrix_coefficients = heif_matrix_coefficients_RGB_GBR;
    colours->full_range_flag = 1;
    options->output_nclx_profile = colours;
    options->image_orientation = static_cast<heif_orientation>(orientation);
    const heif_error encoded = heif_context_encode_image(context, image, encoder, options, nullptr);
    Must(encoded.code == heif_error_Ok);
    heif_writer writer{1, [](heif_context*, const void* data, std::size_t size, void* to) {
                         *static_cast<PictureFile*>(to) = TakenBytes(data, size);
                         return heif_error{heif_error_Ok, heif_suberror_Unspecified, nullptr};
                       }};
    heif_context_write(context, &writer, &file);
    heif_nclx_color_profile_free(colours);
    heif_encoding_options_free(options);
    heif_image_release(image);
    heif_encoder_release(encoder);
  }
  heif_context_free(context);
  return file;
}

PictureFile Heif(const Picture& picture) {
  return HeifWith(picture, 1);
}
#endif

#ifdef SLUICE_HAS_JXL
PictureFile JxlWith(const void* pixels, std::uint32_t width, std::uint32_t height,
                    std::uint32_t channels, unsigned bits, const JxlForm& form) {
  JxlEncoder* const encoder = JxlEncoderCreate(nullptr);
  JxlBasicInfo info{};
  JxlEncoderInitBasicInfo(&info);
  info.xsize = width;
  info.ysize = height;
  info.bits_per_sample = bits;
  info.num_color_channels = channels < 3 ? 1 : 3;
  const std::uint32_t opacity = channels % 2 == 0 ? 1 : 0;
  info.num_extra_channels = opacity + form.depths;
  info.alpha_bits = channels % 2 == 0 ? bits : 0;
  info.orientation = static_cast<JxlOrientation>(form.orientation);
  info.uses_original_profile = JXL_TRUE;
  if (form.boxes) Must(JxlEncoderUseContainer(encoder, JXL_TRUE) == JXL_ENC_SUCCESS);
  Must(JxlEncoderSetBasicInfo(encoder, &info) == JXL_ENC_SUCCESS);
  for (std::uint32_t i = opacity; i < info.num_extra_channels; ++i) {
    JxlExtraChannelInfo depth{};
    JxlEncoderInitExtraChannelInfo(JXL_CHANNEL_DEPTH, &depth);
    Must(JxlEncoderSetExtraChannelInfo(encoder, i, &depth) == JXL_ENC_SUCCESS);
  }
  JxlColorEncoding colours{};
  if (form.linear)
    JxlColorEncodingSetToLinearSRGB(&colours, channels < 3);
  else
    JxlColorEncodingSetToSRGB(&colours, channels < 3);
  Must(JxlEncoderSetColorEncoding(encoder, &colours) == JXL_ENC_SUCCESS);
  JxlEncoderFrameSettings* const settings = JxlEncoderFrameSettingsCreate(encoder, nullptr);
  JxlEncoderSetFrameLossless(settings, JXL_TRUE);
  const JxlPixelFormat format{channels, bits > 8 ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8,
                              JXL_NATIVE_ENDIAN, 0};
  Must(JxlEncoderAddImageFrame(settings, &format, pixels,
                               std::size_t{width} * height * channels * (bits > 8 ? 2 : 1)) ==
       JXL_ENC_SUCCESS);
  const JxlPixelFormat one{1, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  const std::vector<std::uint8_t> plane(std::size_t{width} * height);
  for (std::uint32_t i = opacity; i < info.num_extra_channels; ++i)
    Must(JxlEncoderSetExtraChannelBuffer(settings, &one, plane.data(), plane.size(), i) ==
         JXL_ENC_SUCCESS);
  JxlEncoderCloseInput(encoder);
  PictureFile file(1 << 20);
  auto* next = reinterpret_cast<std::uint8_t*>(file.data());
  std::size_t room = file.size();
  Must(JxlEncoderProcessOutput(encoder, &next, &room) == JXL_ENC_SUCCESS);
  file.resize(file.size() - room);
  JxlEncoderDestroy(encoder);
  return file;
}

PictureFile Jxl(const Picture& picture) {
  return JxlWith(picture.pixels.data(), picture.width, picture.height, picture.channels, 8);
}
#endif

#ifdef SLUICE_HAS_JP2
PictureFile Jp2With(const Picture& picture, unsigned bits, bool bare, std::uint32_t chroma_step,
                    int tile) {
  std::array<opj_image_cmptparm_t, 4> components{};
  for (std::size_t c = 0; c < picture.channels; ++c) {
    const std::uint32_t step = c == 1 || c == 2 ? chroma_step : 1;
    components[c].dx = components[c].dy = step;
    components[c].w = (picture.width + step - 1) / step;
    components[c].h = (picture.height + step - 1) / step;
    components[c].prec = bits;
  }
  opj_image_t* const image = opj_image_create(picture.channels, components.data(),
                                              chroma_step > 1        ? OPJ_CLRSPC_SYCC
                                              : picture.channels < 3 ? OPJ_CLRSPC_GRAY
                                                                     : OPJ_CLRSPC_SRGB);
  image->x1 = picture.width;
  image->y1 = picture.height;
  const int scale = bits == 16 ? 257 : 1;
  for (std::uint32_t c = 0; c < picture.channels; ++c) {
    opj_image_comp_t& component = image->comps[c];
    if (c == 3) component.alpha = 1;
    for (std::uint32_t y = 0; y < component.h; ++y) {
      for (std::uint32_t x = 0; x < component.w; ++x) {
        const std::uint8_t value = picture.at(x * component.dx, y * component.dy)[c];
        component.data[y * component.w + x] = value * scale;
      }
    }
  }
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.numresolution = 1;
  parameters.tcp_mct = picture.channels >= 3 && chroma_step == 1 ? 1 : 0;
  if (tile > 0) {
    parameters.tile_size_on = OPJ_TRUE;
    parameters.cp_tdx = parameters.cp_tdy = tile;
  }
  opj_codec_t* const codec = opj_create_compress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  Must(opj_setup_encoder(codec, &parameters, image) == OPJ_TRUE);
  struct Out {
    PictureFile file;
    std::size_t at = 0;
    void Reach(std::size_t end) { file.resize(std::max(file.size(), end)); }
  } out;
  opj_stream_t* const stream = opj_stream_default_create(OPJ_FALSE);
  opj_stream_set_user_data(stream, &out, nullptr);
  opj_stream_set_write_function(stream, [](void* data, OPJ_SIZE_T count, void* self) {
    auto& to = *static_cast<Out*>(self);
    to.Reach(to.at + count);
    std::copy_n(static_cast<const std::byte*>(data), count, &to.file[to.at]);
    to.at += count;
    return count;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* self) {
    auto& to = *static_cast<Out*>(self);
    to.at += static_cast<std::size_t>(count);
    to.Reach(to.at);
    return count;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T at, void* self) {
    auto& to = *static_cast<Out*>(self);
    to.at = static_cast<std::size_t>(at);
    to.Reach(to.at);
    return OPJ_TRUE;
  });
  Must(opj_start_compress(codec, image, stream) == OPJ_TRUE);
  Must(opj_encode(codec, stream) == OPJ_TRUE);
  Must(opj_end_compress(codec, stream) == OPJ_TRUE);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return out.file;
}

PictureFile Jp2(const Picture& picture) {
  return Jp2With(picture, 8, false, 1);
}
#endif

}  // namespace sluice::test
