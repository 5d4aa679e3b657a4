// The inputs of the converter: sources, and files that an earlier run left.
#include <sluice/error.h>

#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/pixels/decode.h"
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "writer/convert/kept_values.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/sample_encoder.h"
#include "writer/source/images/icc.h"

namespace sluice::fuzz {

void RunPlan(Bytes input) {
  Plan plan = BeginPlan({}, {});
  try {
    ResumePlan(AsText(input), "plan.json", plan);
  } catch (const Error&) {
    return;
  }
  Promise(plan.shard_samples > 0 && plan.shard_samples <= kMaxPlannedSamples &&
              plan.block_samples > 0 && plan.block_samples <= kMaxBlockSamples,
          "an accepted plan is within the limits");
}

std::vector<Input> PlanSeeds() {
  Plan plan = BeginPlan({}, {});
  plan.shard_samples = 640;
  plan.block_samples = 8;
  return {ToInput(PlanToJson(plan)), ToInput("{}")};
}

void RunOrigin(Bytes input) {
  const std::optional<Origin> origin = OriginFromJson(AsText(input));
  if (!origin) return;
  const std::optional<Origin> again = OriginFromJson(OriginToJson(*origin));
  Promise(again && again->shard == origin->shard && again->part == origin->part &&
              again->last == origin->last && again->left_out == origin->left_out &&
              again->truncated == origin->truncated && again->kept == origin->kept &&
              again->bytes_in == origin->bytes_in && again->boxes_dropped == origin->boxes_dropped,
          "an origin survives its text form");
}

std::vector<Input> OriginSeeds() {
  return {ToInput(OriginToJson({.shard = 3, .part = 1, .left_out = {}, .truncated = {}})),
          ToInput(OriginToJson({.shard = 3,
                                .part = 1,
                                .last = true,
                                .left_out = {{7, "broken"}, {9, "too large"}},
                                .truncated = {{8, "early"}},
                                .kept = 4,
                                .bytes_in = 123456,
                                .boxes_dropped = 5}))};
}

namespace {

bool IsCutShort(const Outcome& outcome) {
  return outcome.reason.find("cut short") != std::string::npos;
}

// Promises that the same files count as cut short, whatever the form in which they are stored.
void PromiseOneJudgement(const SourceList& sources, ConvertOptions options, const Schema& schema) {
  options.form.truncated = Truncated::kRefuse;
  options.form.icc = IccProfiles::kDrop;
  options.geometry.max_side = 100;
  options.geometry.short_side.reset();
  options.geometry.size.reset();
  options.form.image = ImageCodec::kRaw;
  options.form.keep = false;
  const Outcome resized = SampleEncoder(sources, options, schema, kPageBytes, 0).Encode(0);
  options.geometry.max_side.reset();
  const Outcome whole = SampleEncoder(sources, options, schema, kPageBytes, 0).Encode(0);
  options.form.image = ImageCodec::kJpeg;
  options.form.keep = true;
  const Outcome kept = SampleEncoder(sources, options, schema, kPageBytes, 0).Encode(0);
  Promise(IsCutShort(whole) == IsCutShort(resized) && IsCutShort(whole) == IsCutShort(kept),
          "a file is cut short in every form or in none");
}

}  // namespace

// The input has two bytes of options and a source file.
void RunSource(Bytes input) {
  InputReader reader(input);
  const auto choice = reader.Take<std::uint8_t>();
  const auto side = reader.Take<std::uint8_t>();
  ConvertOptions options;
  options.run.max_pixels = 1 << 20;
  options.geometry.max_side.reset();
  if (choice % 4 == 1) options.geometry.max_side = side + 1;
  if (choice % 4 == 2) options.geometry.short_side = side + 1;
  if (choice % 4 == 3) options.geometry.size = Size{side % 64U + 1, side / 4U + 1};
  options.geometry.fit = static_cast<Fit>(choice / 4 % 3);
  options.form.channels = (choice & 16) != 0 ? 1 : 3;
  options.form.image = (choice & 32) != 0 ? ImageCodec::kRaw : ImageCodec::kJpeg;
  options.form.keep = (choice & 64) != 0;
  options.form.subsampling = (choice & 128) != 0 ? Subsampling::k444 : Subsampling::k420;
  if (choice % 4 == 0 && side % 2 == 1 && CanConvertProfiles()) {
    options.form.icc = IccProfiles::kConvert;
  }
  if (side % 4 >= 2) options.form.truncated = Truncated::kAccept;

  const ScratchFile file(reader.rest());
  SourceList sources;
  sources.root = ScratchFile::folder();
  sources.fields = {{Field::Image(), Feed::kImage}};
  sources.sources = {{file.name(), reader.rest().size(), 0}};
  const Schema schema = sources.MakeSchema();
  SampleEncoder encoder(sources, options, schema, kPageBytes, 0);
  const Outcome outcome = encoder.Encode(0);
  Promise(outcome.reason.size() <= kMaxReasonBytes, "a reason is short");
  PromiseOneJudgement(sources, options, schema);
  if (!outcome.reason.empty()) return;

  // Every accepted file must be readable.
  const FieldValue& value = outcome.sample.fields[0];
  ImagePayload payload{value.codec, value.pixel_type, value.channels,
                       value.width, value.height,     value.bytes};
  Promise(value.width > 0 && value.height > 0 && (value.channels == 1 || value.channels == 3),
          "an encoded image has a size");
  std::vector<std::uint8_t> pixels(std::size_t{value.width} * value.height * value.channels);
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, Region::Whole(value.width, value.height),
                                       {pixels.data(), value.channels, PixelOrder::kInterleaved});
  Promise(defect == nullptr, "an image that the converter stored can be decoded");
}

namespace {

// Tiny files: BMP, GIF, WebPs with and without loss, a TIFF, PPM, PBM, PAM and TGA.
std::vector<Input> OtherKinds() {
  const auto input = [](std::initializer_list<unsigned> values, std::size_t zeros = 0) {
    Input bytes;
    for (const unsigned value : values)
      bytes.push_back(static_cast<std::byte>(value));
    bytes.resize(bytes.size() + zeros);
    return bytes;
  };
  return {
      input({'B', 'M', 62, 0, 0, 0, 0, 0, 0, 0,  54, 0, 0, 0, 40, 0, 0, 0, 2,
             0,   0,   0,  1, 0, 0, 0, 1, 0, 24, 0,  0, 0, 0, 0,  8, 0, 0, 0},
            24),
      input({'G', 'I', 'F', '8', '9', 'a', 4, 0, 4,    0,    0x81, 0,   0, 255, 0, 0, 0,
             255, 0,   0,   0,   255, 9,   8, 7, 0x21, 0xF9, 4,    1,   0, 0,   2, 0, 0x2C,
             0,   0,   0,   0,   4,   0,   4, 0, 0,    7,    18,   128, 0, 1,   2, 3, 0,
             1,   2,   3,   0,   1,   2,   3, 0, 1,    2,    3,    129, 0, 0x3B}),
      input({'R', 'I', 'F', 'F',  26, 0, 0, 0,    'W', 'E',  'B',  'P',  'V',  'P',  '8',  'L', 13,
             0,   0,   0,   0x2F, 0,  0, 0, 0x10, 7,   0x10, 0x11, 0x11, 0x88, 0x88, 0xFE, 7,   0}),
      input({'R', 'I', 'F', 'F', 34,   0,    0,    0,    'W',  'E', 'B',  'P', 'V',
             'P', '8', ' ', 22,  0,    0,    0,    0x30, 1,    0,   0x9D, 1,   0x2A,
             1,   0,   1,   0,   0x0E, 0xC0, 0xFE, 0x25, 0xA4, 0,   3,    0x70},
            4),
      // A TIFF with the tags width, height, bits, compression, photometric, offset of the strip,
      // samples, rows and bytes.
      input({'I', 'I', 42, 0, 8,  0, 0,  0, 9, 0, 0, 1, 3,   0,  1,  0,  0,  0,  4,  0, 0, 0,
             1,   1,   3,  0, 1,  0, 0,  0, 2, 0, 0, 0, 2,   1,  3,  0,  1,  0,  0,  0, 8, 0,
             0,   0,   3,  1, 3,  0, 1,  0, 0, 0, 1, 0, 0,   0,  6,  1,  3,  0,  1,  0, 0, 0,
             1,   0,   0,  0, 17, 1, 4,  0, 1, 0, 0, 0, 122, 0,  0,  0,  21, 1,  3,  0, 1, 0,
             0,   0,   1,  0, 0,  0, 22, 1, 3, 0, 1, 0, 0,   0,  2,  0,  0,  0,  23, 1, 4, 0,
             1,   0,   0,  0, 8,  0, 0,  0, 0, 0, 0, 0, 10,  20, 30, 40, 50, 60, 70, 80}),
      ToInput("P6\n# two\n2 1\n255\nabcdef"),
      ToInput("P3 2 1 99 1 2 3 4 5 6"),
      ToInput("P1\n#\n2 2\n10 01"),
      ToInput(std::string("P4 9 1\n\x80\x80", 9)),
      ToInput("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 65535\nENDHDR\nabcdefgh"),
      // A TGA with run lengths of a palette's indices, from the bottom, and one of 32 bits.
      input({0, 1, 9, 0, 0, 2, 0, 24, 0, 0,    0, 0, 3, 0, 2,
             0, 8, 0, 1, 2, 3, 4, 5,  6, 0x83, 0, 1, 1, 0}),
      input({0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 32, 0x28, 1, 2, 3, 4, 5, 6, 7, 8}),
  };
}

}  // namespace

// The input is a file, whose values are stored as they are.
void RunValues(Bytes input) {
  const MemoryBound memory(std::size_t{256} << 20);
  ConvertOptions options;
  options.run.max_pixels = 1 << 18;
  options.form.pixels = PixelValues::kKeep;
  const ScratchFile file(input);
  SourceList sources;
  sources.root = ScratchFile::folder();
  sources.fields = {{Field::Image(), Feed::kImage}};
  sources.sources = {{file.name(), input.size(), 0}};
  FindForms(options, {}, sources);
  const Schema schema = sources.MakeSchema();
  schema.Validate();
  SampleEncoder encoder(sources, options, schema, kPageBytes, 0);
  const Outcome outcome = encoder.Encode(0);
  const bool readable = sources.fields[0].form->channels > 0;
  Promise(readable == outcome.reason.empty() || readable, "what is stored was read for its form");
  if (!outcome.reason.empty()) return;
  const FieldValue& value = outcome.sample.fields[0];
  const ImagePayload payload{value.codec, value.pixel_type, value.channels,
                             value.width, value.height,     value.bytes};
  std::vector<std::uint8_t> pixels(std::size_t{value.width} * value.height * value.channels *
                                   SizeOf(value.pixel_type));
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, Region::Whole(value.width, value.height),
                                       {pixels.data(), value.channels, PixelOrder::kInterleaved});
  Promise(defect == nullptr, "values that the converter stored can be decoded");
}

std::vector<Input> ValuesSeeds() {
  std::vector<Input> seeds = {
      ToInput("Pf\n2 1\n-1.0\nabcdefgh"),
      ToInput("PF 1 1 1.0 abcdefghijkl"),
      ToInput("P5 2 2 65535 abcdefgh"),
      ToInput("P2 2 1 300 7 299"),
  };
  for (const char* const header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 2), }\n",
        "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1), }\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 5), }\n"}) {
    std::string file("\x93NUMPY\1\0", 8);
    file += static_cast<char>(std::strlen(header));
    file += '\0';
    file += header;
    file.append(16, '\0');
    seeds.push_back(ToInput(file));
  }
  for (const Input& file : OtherKinds())
    seeds.push_back(file);
  return seeds;
}

std::vector<Input> SourceSeeds() {
  // 4 x 2 pixels of 8-bit RGB.
  static constexpr char kRgbPng[] =
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x02\x08\x02\0\0\0\xf0\xca\xea\x34"
      "\0\0\0\x25IDAT\x78\x01\x01\x1a\0\xe5\xff\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"
      "\0\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x18\xc1\x01\x6f\0\0\0\0"
      "\0\0\0\0IEND\xae\x42\x60\x82";
  std::vector<Input> seeds;
  const auto add = [&seeds](std::uint8_t choice, std::uint8_t side, Bytes file) {
    Input seed{static_cast<std::byte>(choice), static_cast<std::byte>(side)};
    seed.insert(seed.end(), file.begin(), file.end());
    seeds.push_back(std::move(seed));
  };
  using test::JpegOptions;
  const test::Picture picture = test::MakePicture(40, 30);
  add(1, 20, test::MakeJpeg(picture));
  add(3, 77, test::MakeJpeg(picture, {.progressive = true}));
  add(64, 0, test::MakeJpeg(picture, {.progressive = true}));
  add(64, 0, test::MakeJpeg(picture, {.restart_rows = 1}));
  add(2, 10, test::MakeJpeg(test::MakePicture(40, 30, 4)));
  add(32, 0, test::MakeJpeg(test::MakePicture(40, 30, 1)));
  add(0, 0, AsBytes({kRgbPng, sizeof(kRgbPng) - 1}));
  for (const Input& file : OtherKinds()) {
    add(32, 1, file);
    add(3, 77, file);
  }
  return seeds;
}

}  // namespace sluice::fuzz
