// TFRecord and RecordIO files: framing, messages, labels, and images.
#include <sluice/error.h>

#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "writer/source/read_source.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/records.h"

namespace sluice::fuzz {

namespace {

void Read(Bytes content, bool tf) {
  const ScratchFile file(content);
  const ConvertSource source = ConvertSource::Archives({file.path()});
  SourceList list;
  try {
    list = tf ? ReadTfRecords(source, {}) : ReadRecordIo(source, {});
  } catch (const Error&) {
    return;
  }
  list.MakeSchema().Validate();
  std::vector<std::byte> image;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.sources.size(), 8); ++i) {
    try {
      ReadImageFile(list, i, image);
      Promise(image.size() == list.sources[i].bytes, "an image has the size it was listed with");
    } catch (const Error&) {
      Promise(tf, "an image without a checksum that was indexed can be read");
    }
  }
}

// Corrects the checksums of the lengths, and of the data if it is complete.
void ResealRecords(std::span<std::byte> file) {
  for (std::size_t at = 0; file.size() - at >= 16;) {
    const Bytes head = Bytes(file).subspan(at, 8);
    const std::uint32_t crc = MaskedCrc(Crc32c(head));
    std::memcpy(file.data() + at + 8, &crc, sizeof crc);
    const auto bytes = LoadAt<std::uint64_t>(head, 0);
    if (bytes > file.size() - at - 16) return;
    const std::uint32_t data = MaskedCrc(Crc32c(Bytes(file).subspan(at + 12, bytes)));
    std::memcpy(file.data() + at + 12 + bytes, &data, sizeof data);
    at += 16 + bytes;
  }
}

// A protobuf field of bytes: a tag, the length (here always in two bytes), and the content.
Input Part(char tag, Bytes content) {
  Input part = {std::byte(tag), std::byte((content.size() & 127) | 128),
                std::byte(content.size() >> 7)};
  part.insert(part.end(), content.begin(), content.end());
  return part;
}

Input Joined(const Input& a, const Input& b) {
  Input both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

Input FeatureOf(std::string_view name, char kind, const Input& list) {
  return Part('\x0a', Joined(Part('\x0a', AsBytes(name)), Part('\x12', Part(kind, list))));
}

}  // namespace

// The first byte chooses the kind. TFRecords are read as they are, and with corrected checksums.
void RunRecords(Bytes input) {
  if (input.empty()) return;
  Input file(input.begin() + 1, input.end());
  const bool tf = (std::to_integer<unsigned>(input[0]) & 1) != 0;
  Read(file, tf);
  if (!tf) return;
  ResealRecords(file);
  Read(file, true);
}

std::vector<Input> RecordsSeeds() {
  const Input jpeg = test::MakeJpeg(test::MakePicture(8, 8));
  const Input packed = {std::byte{0x0a}, std::byte{4}, std::byte{},
                        std::byte{},     std::byte{},  std::byte{63}};
  const Input integers = {std::byte{0x0a}, std::byte{2}, std::byte{7}, std::byte{9}};
  const Input example = Part('\x0a', Joined(Joined(FeatureOf("image", '\x0a', Part('\x0a', jpeg)),
                                                   FeatureOf("label", '\x1a', integers)),
                                            FeatureOf("weight", '\x12', packed)));
  Input tf = {std::byte{1}};
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t size = example.size();
    const Bytes length = std::as_bytes(std::span(&size, 1));
    tf.insert(tf.end(), length.begin(), length.end());
    tf.resize(tf.size() + 4);
    tf.insert(tf.end(), example.begin(), example.end());
    tf.resize(tf.size() + 4);
  }
  ResealRecords(std::span(tf).subspan(1));
  Input rec = {std::byte{0}};
  const auto record = [&rec](std::uint32_t kind, const Input& data) {
    const std::uint32_t head[] = {0xced7230aU,
                                  kind << 29 | static_cast<std::uint32_t>(data.size())};
    const Bytes bytes = std::as_bytes(std::span(head));
    rec.insert(rec.end(), bytes.begin(), bytes.end());
    rec.insert(rec.end(), data.begin(), data.end());
    rec.resize(AlignUp(rec.size() - 1, std::uint64_t{4}) + 1);
  };
  Input data(24);
  data.insert(data.end(), jpeg.begin(), jpeg.end());
  record(0, data);
  record(1, Input(data.begin(), data.begin() + 32));
  record(2, Input(data.begin() + 32, data.begin() + 64));
  record(3, Input(data.begin() + 64, data.end()));
  Input detection(24);
  detection[0] = std::byte{7};
  for (const float label : {2.F, 5.F, 1.F, .1F, .1F, .5F, .5F}) {
    const Bytes bytes = std::as_bytes(std::span(&label, 1));
    detection.insert(detection.end(), bytes.begin(), bytes.end());
  }
  Input second = rec;
  rec.resize(1);
  record(0, Joined(detection, jpeg));
  return {tf, second, rec};
}

}  // namespace sluice::fuzz
