// Blocks of samples as they are stored: header, table, payloads, and the refusal of damaged ones.
#include "format/disk/block.h"

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "tests/catch.h"
#include "tests/format/built_shard.h"

namespace sluice {

namespace {

const Schema kSchema{{Field::Image(), Field::Array("size", DType::kInt16, {3}),
                      Field::Bytes("text")}};  // entries at 0, 40 and 48; rows of 72 bytes

std::vector<EncodedSample> Samples() {
  using namespace test;
  return {
      {"a", {ImageValue(5, 1, 1, "12345"), ArrayValue<std::int16_t>({1, 2, 3}), PayloadValue("")}},
      {"b", {FieldValue{}, ArrayValue<std::int16_t>({4, 5, 6}), PayloadValue("text of b")}},
      {"c",
       {ImageValue(65, 1, 1, std::string(65, 'p')), ArrayValue<std::int16_t>({7, 8, 9}),
        FieldValue{}}}};
}

std::vector<std::byte> Build(const std::vector<EncodedSample>& samples) {
  return BuildBlock(kSchema, RecordLayout(kSchema), test::IdOf(9), 4, 12, samples);
}

// Recomputes the block's own checksums after a change.
void Reseal(std::vector<std::byte>& block) {
  auto header = LoadAt<BlockHeader>(block, 0);
  header.table_checksum =
      Hash64(Bytes(block).subspan(sizeof(header), std::size_t{header.count} * header.record_bytes));
  StoreAt<BlockHeader>(block, 0, header);
  header.header_checksum = Hash64(Bytes(block).first(56));
  StoreAt<BlockHeader>(block, 0, header);
}

BlockView ViewOf(const std::vector<std::byte>& block) {
  BlockHeader header;
  REQUIRE(BlockView::ParseHeader(block, header) == nullptr);
  return {block, header};
}

Defect DefectOfHeader(std::vector<std::byte> block, void (*change)(BlockHeader&)) {
  auto header = LoadAt<BlockHeader>(block, 0);
  change(header);
  StoreAt<BlockHeader>(block, 0, header);
  header.header_checksum = Hash64(Bytes(block).first(56));
  StoreAt<BlockHeader>(block, 0, header);
  return BlockView::ParseHeader(block, header);
}

}  // namespace

TEST_CASE("a block states its contents and its shard") {
  const std::vector<std::byte> block = Build(Samples());
  CHECK(block.size() == 4096);
  BlockHeader header;
  REQUIRE(BlockView::ParseHeader(block, header) == nullptr);
  CHECK(header.number == 4);
  CHECK(header.bytes == 4096);
  CHECK(header.first_sample == 12);
  CHECK(header.count == 3);
  CHECK(header.record_bytes == 72);
  CHECK(header.shard_id == test::IdOf(9));
}

TEST_CASE("payloads follow the table field by field, each from a multiple of 64 bytes") {
  const std::vector<std::byte> block = Build(Samples());
  const BlockView view = ViewOf(block);
  const RecordLayout layout(kSchema);
  // The table ends at 64 + 3 * 72 = 280, so payloads begin at 320: two images, then two texts.
  const auto offset_of = [&](std::uint32_t row, std::size_t field) {
    BlockView::Payload payload;
    REQUIRE(view.GetPayload(layout, row, field, payload) == nullptr);
    return payload.entry.offset;
  };
  CHECK(offset_of(0, 0) == 320);
  CHECK(offset_of(1, 0) == 0);  // absent
  CHECK(offset_of(2, 0) == 384);
  CHECK(offset_of(0, 2) == 512);
  CHECK(offset_of(1, 2) == 512);  // the value before it is empty
  CHECK(view.VerifyTable() == nullptr);
  CHECK(view.VerifyPlacement(kSchema, layout) == nullptr);
}

TEST_CASE("a block gives back the values put into it") {
  const std::vector<std::byte> block = Build(Samples());
  const BlockView view = ViewOf(block);
  const RecordLayout layout(kSchema);
  ImagePayload image;
  std::uint64_t checksum = 0;
  REQUIRE(view.GetImage(layout, 2, 0, image, checksum) == nullptr);
  CHECK(image.codec == Codec::kRaw);
  CHECK(image.width == 65);
  CHECK(image.height == 1);
  CHECK(image.channels == 1);
  CHECK(AsText(image.bytes) == std::string(65, 'p'));
  CHECK(checksum == Hash64(AsBytes(std::string(65, 'p'))));
  REQUIRE(view.GetImage(layout, 1, 0, image, checksum) == nullptr);
  CHECK(image.codec == Codec::kAbsent);
  CHECK(image.bytes.empty());

  BlockView::Payload payload;
  REQUIRE(view.GetPayload(layout, 0, 2, payload) == nullptr);
  CHECK(payload.entry.codec == 1);  // present, but empty
  CHECK(payload.bytes.empty());
  REQUIRE(view.GetPayload(layout, 1, 2, payload) == nullptr);
  CHECK(AsText(payload.bytes) == "text of b");

  const Bytes elements = view.Elements(layout, 1, 1);
  REQUIRE(elements.size() == 6);
  CHECK(LoadAt<std::int16_t>(elements, 4) == 6);
}

TEST_CASE("a block is never larger than predicted, and at most one page smaller") {
  const RecordLayout layout(kSchema);
  std::vector<EncodedSample> samples;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    samples.push_back({"",
                       {test::ImageValue(1, 1, 1, std::string(i, 'x')),
                        test::ArrayValue<std::int16_t>({1, 2, 3}), test::PayloadValue("y")}});
    sum += BlockBytesOf(samples.back(), kSchema, layout);
    const std::uint64_t bytes = Build(samples).size();
    CHECK(bytes <= BlockBytes(sum));
    CHECK(bytes + kPageBytes >= BlockBytes(sum));
  }
}

TEST_CASE("an impossible block header is refused") {
  const std::vector<std::byte> block = Build(Samples());
  CHECK(DefectOfHeader(block, [](BlockHeader&) {}) == nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.magic = 0; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.bytes = 0; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.bytes = 4000; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.bytes = 8192; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.bytes = UINT64_MAX - 4095; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.count = 0; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.count = 57; }) !=
        nullptr);  // 64 + 57 * 72 > 4096
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.count = kMaxBlockSamples + 1; }) != nullptr);
  CHECK(DefectOfHeader(block, [](BlockHeader& h) { h.record_bytes = kMaxRecordBytes + 8; }) !=
        nullptr);
  BlockHeader header;
  CHECK(BlockView::ParseHeader(Bytes(block).first(63), header) != nullptr);
  CHECK(BlockView::ParseHeader(Bytes(block).first(4095), header) != nullptr);
}

TEST_CASE(
    "an entry that is impossible or leads out of the block is refused, and other entries stay "
    "readable") {
  const RecordLayout layout(kSchema);
  const auto defect_of = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::vector<std::byte> block = Build(Samples());
    std::memcpy(block.data() + 64 + at, &value, size);
    Reseal(block);
    const BlockView view = ViewOf(block);
    ImagePayload image;
    std::uint64_t checksum = 0;
    REQUIRE(view.GetImage(layout, 2, 0, image, checksum) == nullptr);  // stays readable
    return view.GetImage(layout, 0, 0, image, checksum);
  };
  CHECK(defect_of(0, 320, 8) == nullptr);
  CHECK(defect_of(0, 4096, 8) != nullptr);  // offset: the payload would begin after the block
  CHECK(defect_of(0, UINT64_MAX, 8) != nullptr);
  CHECK(defect_of(16, 0xFFFFFFFF, 4) != nullptr);  // size
  CHECK(defect_of(22, 1, 2) != nullptr);           // flags
  CHECK(defect_of(24, 0, 4) != nullptr);           // width
  CHECK(defect_of(24, 65'536, 4) != nullptr);
  CHECK(defect_of(28, 0, 4) != nullptr);  // height
  CHECK(defect_of(32, 0, 1) != nullptr);  // channels
  CHECK(defect_of(32, 65, 1) != nullptr);
  CHECK(defect_of(33, 5, 1) != nullptr);  // pixel type
}

TEST_CASE("a payload with an unknown codec is returned with the codec's number") {
  const RecordLayout layout(kSchema);
  std::vector<std::byte> block = Build(Samples());
  StoreAt<std::uint16_t>(block, 64 + 20, 0x8001);
  Reseal(block);
  ImagePayload image;
  std::uint64_t checksum = 0;
  REQUIRE(ViewOf(block).GetImage(layout, 0, 0, image, checksum) == nullptr);
  CHECK(static_cast<int>(image.codec) == 0x8001);
  CHECK(AsText(image.bytes) == "12345");
}

TEST_CASE("payloads at offsets that the format does not allow are found") {
  const RecordLayout layout(kSchema);
  const auto placement_after = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::vector<std::byte> block = Build(Samples());
    std::memcpy(block.data() + at, &value, size);
    Reseal(block);
    return ViewOf(block).VerifyPlacement(kSchema, layout);
  };
  CHECK(placement_after(64, 320, 8) == nullptr);
  CHECK(placement_after(64, 384, 8) != nullptr);         // a different offset
  CHECK(placement_after(64 + 72 + 8, 1, 1) != nullptr);  // the entry of an absent value
  CHECK(placement_after(64 + 34, 1, 1) != nullptr);      // padding in an image's entry
  CHECK(placement_after(64 + 46, 1, 1) != nullptr);      // padding after an array
  CHECK(placement_after(285, 1, 1) != nullptr);          // between table and payloads
  CHECK(placement_after(326, 1, 1) != nullptr);          // after a payload
  CHECK(placement_after(4095, 1, 1) != nullptr);         // at the block's end
}

}  // namespace sluice
