// What the options of ConvertOptions change, and which values are refused.
#include "writer/convert/options.h"

#include <algorithm>
#include <cmath>

#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

StoredDataset ConvertFile(const FileBytes& file, const ConvertOptions& options) {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "one", file);
  Convert(folder / "source", folder / "data", options);
  return ReadDataset(folder / "data");
}

StoredField ConvertImage(const Picture& picture, const ConvertOptions& options) {
  return ConvertFile(MakeJpeg(picture), options).samples.at(0).fields.at(0);
}

// Facts from a JPEG's header.
struct Header {
  std::uint16_t luma_step = 0;  // the first quantisation step
  // The sampling factors of luma, and the number of components.
  int luma_width = 0, luma_height = 0, components = 0;
  unsigned restart_interval = 0;
  bool progressive = false;
  bool arithmetic = false;
  bool standard_tables = false;
};

Header HeaderOf(const FileBytes& file) {
  jpeg_decompress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&object);
  jpeg_mem_src(&object, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&object, TRUE);
  Header header;
  header.luma_step = object.quant_tbl_ptrs[object.comp_info[0].quant_tbl_no]->quantval[0];
  header.luma_width = object.comp_info[0].h_samp_factor;
  header.luma_height = object.comp_info[0].v_samp_factor;
  header.components = object.num_components;
  header.restart_interval = object.restart_interval;
  header.progressive = object.progressive_mode != FALSE;
  header.arithmetic = object.arith_code != FALSE;
  // The standard table of luminance DC codes has 0, 1, 5, 1, 1, 1, 1, 1, 1 codes of 1 to 9 bits.
  const UINT8 standard[] = {0, 1, 5, 1, 1, 1, 1, 1, 1};
  const JHUFF_TBL* const table = object.dc_huff_tbl_ptrs[0];
  header.standard_tables =
      table != nullptr && std::equal(std::begin(standard), std::end(standard), table->bits + 1);
  jpeg_destroy_decompress(&object);
  return header;
}

// A mean over boxes of k x k pixels: any anti-aliasing filter gives about this for a smooth
// picture.
Picture Boxed(const Picture& in, std::uint32_t k) {
  Picture out{in.width / k, in.height / k, in.channels, {}};
  for (std::uint32_t y = 0; y < out.height; ++y) {
    for (std::uint32_t x = 0; x < out.width; ++x) {
      for (std::uint32_t c = 0; c < in.channels; ++c) {
        unsigned sum = 0;
        for (std::uint32_t row = 0; row < k; ++row) {
          for (std::uint32_t column = 0; column < k; ++column) {
            sum += in.at(x * k + column, y * k + row)[c];
          }
        }
        out.pixels.push_back(static_cast<std::uint8_t>(std::lround(sum / (1.0 * k * k))));
      }
    }
  }
  return out;
}

Picture Smooth(std::uint32_t width, std::uint32_t height) {
  Picture picture{width, height, 3, {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      picture.pixels.push_back(static_cast<std::uint8_t>(20 + x * 200 / width));
      picture.pixels.push_back(static_cast<std::uint8_t>(20 + y * 200 / height));
      picture.pixels.push_back(static_cast<std::uint8_t>(20 + (x + y) * 200 / (width + height)));
    }
  }
  return picture;
}

ConvertOptions Raw() {
  ConvertOptions options;
  options.form.image = ImageCodec::kRaw;
  return options;
}

}  // namespace

TEST_CASE("the default is JPEG of at most 500 pixels at quality 90 with a restart marker per row") {
  const StoredField image = ConvertImage(MakePicture(1000, 640), {});
  CHECK(image.codec == Codec::kJpeg);
  CHECK(image.width == 500);
  CHECK(image.height == 320);
  const Header header = HeaderOf(image.bytes);
  CHECK(header.luma_step == 3);  // 16 at quality 50, times 0.2, rounded as the IJG's formula does
  CHECK(header.luma_width == 2);
  CHECK(header.luma_height == 2);
  CHECK(header.restart_interval == 32);  // MCUs of 16 pixels in a row of 500
  CHECK(header.standard_tables);
  CHECK_FALSE(header.progressive);
}

TEST_CASE("max_side, short_side or size sets the size, and without them it stays") {
  const Picture picture = MakePicture(300, 200);
  const auto size = [&](const ConvertOptions& options) {
    const StoredField image = ConvertImage(picture, options);
    return std::pair(image.width, image.height);
  };
  ConvertOptions options;
  options.geometry.max_side = 150;
  CHECK(size(options) == std::pair(150U, 100U));
  options.geometry.max_side.reset();
  CHECK(size(options) == std::pair(300U, 200U));
  options.geometry.short_side = 50;
  CHECK(size(options) == std::pair(75U, 50U));
  options.geometry.short_side.reset();
  options.geometry.size = Size{64, 48};
  CHECK(size(options) == std::pair(64U, 48U));
  options.geometry.size = Size{640, 480};
  CHECK(size(options) == std::pair(640U, 480U));
}

TEST_CASE("`fit` decides how a picture gets a different aspect ratio") {
  // The left third is red, the middle green, the right blue.
  Picture bars{300, 100, 3, {}};
  for (int i = 0; i < 300 * 100; ++i) {
    const int x = i % 300;
    for (int c = 0; c < 3; ++c) {
      bars.pixels.push_back(static_cast<std::uint8_t>(x / 100 == c ? 240 : 10));
    }
  }
  ConvertOptions options = Raw();
  options.geometry.max_side.reset();
  options.geometry.size = Size{90, 90};
  const auto with = [&](Fit fit) {
    options.geometry.fit = fit;
    return ConvertFile(MakePng(bars), options).samples.at(0).Pixels();
  };
  const Picture crop = with(Fit::kCrop);
  CHECK(crop.at(3, 45)[1] > 200);  // all green
  CHECK(crop.at(86, 45)[1] > 200);
  const Picture stretch = with(Fit::kStretch);
  CHECK(stretch.at(3, 45)[0] > 200);
  CHECK(stretch.at(86, 45)[2] > 200);
  CHECK(stretch.at(3, 2)[0] > 200);
  const Picture pad = with(Fit::kPad);
  CHECK(pad.at(3, 45)[0] > 200);
  CHECK(pad.at(86, 45)[2] > 200);
  for (const std::uint32_t y : {0U, 29U, 60U, 89U}) {
    CHECK(std::max({pad.at(45, y)[0], pad.at(45, y)[1], pad.at(45, y)[2]}) == 0);
  }
  CHECK(pad.at(45, 30)[1] > 200);
}

TEST_CASE("downscaling is anti-aliased at every scale", "[no-tsan]") {
  const Picture smooth = Smooth(960, 640);
  for (const std::uint32_t k : {2U, 3U, 4U, 5U, 8U, 16U, 20U}) {
    INFO("by " << k);
    ConvertOptions options = Raw();
    options.geometry.max_side = 960 / k;
    CHECK(Difference(ConvertFile(MakePng(smooth), options).samples[0].Pixels(), Boxed(smooth, k)) <
          1);
    const FileBytes jpeg = MakeJpeg(smooth);
    CHECK(Difference(ConvertFile(jpeg, options).samples[0].Pixels(), Boxed(DecodeJpeg(jpeg), k)) <
          1);
  }
  // A fine checkerboard becomes its mean, not a moire.
  Picture checks{800, 800, 1, {}};
  for (int i = 0; i < 800 * 800; ++i)
    checks.pixels.push_back((i % 800 + i / 800) % 2 * 255);
  ConvertOptions options = Raw();
  options.form.channels = 1;
  options.geometry.max_side = 123;
  for (const std::uint8_t value :
       ConvertFile(MakePng(checks), options).samples[0].Pixels(1).pixels) {
    CHECK(std::abs(value - 127) <= 4);
  }
}

TEST_CASE("`image` chooses between JPEG files and raw pixels") {
  const Picture picture = MakePicture(33, 21);
  CHECK(ConvertImage(picture, {}).codec == Codec::kJpeg);
  const StoredField raw = ConvertImage(picture, Raw());
  CHECK(raw.codec == Codec::kRaw);
  CHECK(raw.bytes.size() == 2079);
}

TEST_CASE("`quality` sets the quantisation tables") {
  ConvertOptions options;
  options.form.quality = 50;
  CHECK(HeaderOf(ConvertImage(MakePicture(40, 40), options).bytes).luma_step == 16);
  options.form.quality = 100;
  CHECK(HeaderOf(ConvertImage(MakePicture(40, 40), options).bytes).luma_step == 1);
}

TEST_CASE("restart_markers puts a restart marker after each row of MCUs") {
  ConvertOptions options;
  const auto interval = [&](bool markers) {
    options.form.restart_markers = markers;
    return HeaderOf(ConvertImage(MakePicture(100, 100), options).bytes).restart_interval;
  };
  CHECK(interval(false) == 0);
  CHECK(interval(true) == 7);
}

TEST_CASE("without subsampling, colour keeps its full resolution") {
  ConvertOptions options;
  options.form.subsampling = Subsampling::k444;
  CHECK(HeaderOf(ConvertImage(MakePicture(40, 40), options).bytes).luma_width == 1);
}

TEST_CASE("with one channel, JPEGs are stored grey") {
  ConvertOptions options;
  options.form.channels = 1;
  const StoredField image = ConvertImage(MakePicture(40, 40), options);
  CHECK(image.channels == 1);
  CHECK(HeaderOf(image.bytes).components == 1);
}

TEST_CASE("shard_bytes sets the planned size of shards", "[no-tsan]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    WriteSource(folder / "source" / std::to_string(i),
                MakePng(MakePicture(200, 200, 3, static_cast<std::uint64_t>(i))));
  }
  ConvertOptions options = Raw();
  options.shards.shard_bytes = 1'000'000;
  const ConvertSummary small = Convert(folder / "source", folder / "small", options);
  CHECK(small.shards == 5);  // eight pictures of 120,000 bytes in each
  CHECK(small.shard_samples == 8);
  for (const ManifestShard& shard : ReadDataset(folder / "small").manifest.shards) {
    CHECK(shard.bytes <= 1'000'000);
  }
  options.shards.shard_bytes = 64'000'000;
  CHECK(Convert(folder / "source", folder / "large", options).shards == 1);
}

TEST_CASE("block_samples sets the samples in a block, and 0 a power of two for about 512 KiB",
          "[no-tsan]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    WriteSource(folder / "source" / std::to_string(i),
                MakePng(MakePicture(200, 200, 3, static_cast<std::uint64_t>(i))));
  }
  ConvertOptions options = Raw();
  const ConvertSummary automatic = Convert(folder / "source", folder / "auto", options);
  CHECK(automatic.block_samples == 4);  // of 120,000 bytes
  options.shards.block_samples = 5;
  CHECK(Convert(folder / "source", folder / "five", options).block_samples == 5);
  CHECK(ReadDataset(folder / "five").manifest.shards[0].blocks == 8);
}

TEST_CASE("the order is shuffled by the seed, or follows the paths") {
  const TemporaryFolder folder;
  for (int i = 10; i < 60; ++i) {
    WriteSource(folder / "source" / std::to_string(i), MakeJpeg(MakePicture(8, 8)));
  }
  const auto keys = [&](const char* name, bool keep_order, std::uint64_t seed) {
    ConvertOptions options;
    options.shards.keep_order = keep_order;
    options.shards.seed = seed;
    Convert(folder / "source", folder / name, options);
    return ReadDataset(folder / name).Keys();
  };
  const auto in_order = keys("order", true, 0);
  CHECK(std::is_sorted(in_order.begin(), in_order.end()));
  CHECK(in_order.size() == 50);
  const auto zero = keys("zero", false, 0);
  const auto one = keys("one", false, 1);
  CHECK(zero != in_order);
  CHECK(one != zero);
  CHECK(std::is_permutation(zero.begin(), zero.end(), in_order.begin(), in_order.end()));
  CHECK(std::is_permutation(one.begin(), one.end(), in_order.begin(), in_order.end()));
}

TEST_CASE("OnError::kFail throws at the first broken source in the dataset's order") {
  const TemporaryFolder folder;
  const FileBytes whole = MakeJpeg(MakePicture(64, 64));
  for (int i = 10; i < 50; ++i) {
    const bool broken = i == 23 || i == 31 || i == 40;
    WriteSource(folder / "source" / std::to_string(i),
                broken ? Truncated(whole, whole.size() / 2) : whole);
  }
  ConvertOptions options;
  options.shards.keep_order = true;
  options.run.on_error = OnError::kFail;
  for (const unsigned threads : {1U, 5U}) {
    options.run.threads = threads;
    const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
    REQUIRE(error);
    CHECK(error->file() == (folder / "source" / "23").string());
  }
  // A different `on_error` does not change the plan.
  options.run.on_error = OnError::kSkip;
  CHECK(Convert(folder / "source", folder / "data", options).samples == 37);
  // The error comes even if everything has been made already.
  options.run.on_error = OnError::kFail;
  const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
  REQUIRE(error);
  CHECK(error->file() == (folder / "source" / "23").string());
}

TEST_CASE("OnError::kFail also throws at an image of an unsupported kind") {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "a", MakeJpeg(MakePicture(64, 64)));
  WriteSource(folder / "source" / "b", std::string("8BPS"));
  ConvertOptions options;
  options.run.on_error = OnError::kFail;
  const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
  REQUIRE(error);
  CHECK(error->file() == (folder / "source" / "b").string());
}

TEST_CASE("dry_run writes nothing and reports what a run would do") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 5);
  WriteSource(folder / "source" / "ant" / "x.psd", std::string("8BPS"));
  ConvertOptions options;
  options.run.dry_run = true;
  const ConvertSummary dry = Convert(folder / "source", folder / "data", options);
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
  options.run.dry_run = false;
  const ConvertSummary wet = Convert(folder / "source", folder / "data", options);
  CHECK(dry.samples == wet.samples);
  CHECK(dry.classes == wet.classes);
  CHECK(dry.class_counts == wet.class_counts);
  CHECK(dry.shards == wet.shards);
  CHECK(dry.bytes_in == wet.bytes_in);
  CHECK(dry.skipped.size() == 1);
  CHECK(dry.shard_samples == wet.shard_samples);
  CHECK(dry.block_samples == wet.block_samples);
  CHECK(static_cast<double>(dry.bytes_out) > 0.5 * static_cast<double>(wet.bytes_out));
  CHECK(static_cast<double>(dry.bytes_out) < 2.0 * static_cast<double>(wet.bytes_out));
}

TEST_CASE("options out of range, or two that exclude each other, are refused") {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "a", MakeJpeg(MakePicture(8, 8)));
  const auto refused = [&](auto&& change) {
    ConvertOptions options;
    change(options);
    CHECK(CodeOf([&] { Convert(folder / "source", folder / "data", options); }) ==
          ErrorCode::kInvalidArgument);
  };
  refused([](ConvertOptions& o) { o.geometry.short_side = 10; });  // with the default max_side
  refused([](ConvertOptions& o) { o.geometry.size = Size{10, 10}; });
  refused([](ConvertOptions& o) { o.geometry.max_side = 0; });
  refused([](ConvertOptions& o) { o.geometry.max_side = 65'501; });
  refused([](ConvertOptions& o) { o.geometry.max_side.reset(), o.geometry.size = Size{0, 10}; });
  refused([](ConvertOptions& o) {
    o.geometry.max_side.reset(), o.geometry.size = Size{60'000, 60'000};
  });
  refused([](ConvertOptions& o) { o.form.quality = 0; });
  refused([](ConvertOptions& o) { o.form.quality = 101; });
  refused([](ConvertOptions& o) { o.form.keep = true, o.form.image = ImageCodec::kRaw; });
  refused([](ConvertOptions& o) { o.form.channels = 2; });
  refused([](ConvertOptions& o) { o.shards.shard_bytes = 999'999; });
  refused([](ConvertOptions& o) { o.shards.shard_bytes = 128'000'001; });
  refused([](ConvertOptions& o) { o.shards.block_samples = 65'537; });
  refused([](ConvertOptions& o) { o.run.threads = 1025; });
  refused([](ConvertOptions& o) { o.run.max_pixels = 0; });
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
}

TEST_CASE("an option that a manifest does not name has its default, and null means unset") {
  CHECK(OptionsFromJson(nlohmann::json::parse(R"({"quality":80})")).geometry.max_side ==
        ConvertOptions().geometry.max_side);
  CHECK_FALSE(OptionsFromJson(nlohmann::json::parse(R"({"max_side":null})")).geometry.max_side);
}

TEST_CASE("a value in a foreign manifest that its option cannot have leaves the option's default") {
  const ConvertOptions usual;
  const ConvertOptions options = OptionsFromJson(nlohmann::json::parse(
      R"({"quality":1e300,"restart_markers":0,"channels":4294967297,"seed":2.5,"max_pixels":"9",)"
      R"("keep":1,"size":["a",7],"short_side":1e10,"shard_bytes":2000000})"));
  CHECK(options.form.quality == usual.form.quality);
  CHECK(options.form.restart_markers == usual.form.restart_markers);
  CHECK(options.form.channels == usual.form.channels);
  CHECK(options.shards.seed == usual.shards.seed);
  CHECK(options.run.max_pixels == usual.run.max_pixels);
  CHECK(options.form.keep == usual.form.keep);
  CHECK_FALSE(options.geometry.size);
  CHECK_FALSE(options.geometry.short_side);
  CHECK(options.shards.shard_bytes == 2'000'000);
}

}  // namespace sluice::test
