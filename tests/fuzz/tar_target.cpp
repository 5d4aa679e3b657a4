// Tar archives: their members and samples.
#include <cstdio>

#include <sluice/error.h>

#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "writer/source/read_source.h"
#include "writer/source/records/records.h"
#include "writer/source/records/tar.h"

namespace sluice::fuzz {

namespace {

constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;

// Corrects the checksum of a header.
void Reseal(std::span<std::byte> header) {
  unsigned sum = ' ' * kChecksumBytes;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (i < kChecksumAt || i >= kChecksumAt + kChecksumBytes) {
      sum += std::to_integer<unsigned>(header[i]);
    }
  }
  char digits[kChecksumBytes] = {};
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  std::memcpy(header.data() + kChecksumAt, digits, sizeof(digits));
}

std::size_t ReadAt(std::span<const std::byte> archive, std::uint64_t offset,
                   std::span<std::byte> to) {
  const std::size_t at = std::min<std::uint64_t>(offset, archive.size());
  const std::size_t size = std::min(to.size(), archive.size() - at);
  std::copy_n(archive.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
  return size;
}

// Walks through the archive. `reseal`: corrects the checksums of headers that are not all zero.
void Walk(std::span<std::byte> archive, bool reseal) {
  const TarRead read = [&](std::uint64_t offset, std::span<std::byte> to) {
    const bool header = to.size() == kTarBlock && offset % kTarBlock == 0 &&
                        offset <= archive.size() && archive.size() - offset >= kTarBlock;
    if (reseal && header) {
      const std::span<std::byte> block = archive.subspan(offset, kTarBlock);
      if (std::any_of(block.begin(), block.end(), [](std::byte b) { return b != std::byte{}; })) {
        Reseal(block);
      }
    }
    return ReadAt(archive, offset, to);
  };
  std::uint64_t before = 0;
  try {
    ForEachTarMember("archive", read, [&](const TarMember& member) {
      Promise(member.offset > before, "members come in the archive's order");
      Promise(member.offset <= archive.size() && member.bytes <= archive.size() - member.offset,
              "a member lies in its archive");
      before = member.offset;
    });
  } catch (const Error&) {
    return;
  }
}

void ReadAll(const SourceList& list, std::size_t source, std::size_t archive_bytes) {
  std::vector<std::byte> content;
  try {
    ReadImageFile(list, source, content);
  } catch (const Error&) {
    Promise(false, "an image that was indexed can be read");
  }
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    if (f > 0 && !list.Value(source, f)) continue;
    if (list.fields[f].feed == Feed::kLabel) continue;
    const Extent extent = list.ExtentOf(source, f);
    Promise(extent.offset <= archive_bytes && extent.bytes <= archive_bytes - extent.offset,
            "the values of a sample lie in its archive");
    try {
      if (list.fields[f].feed == Feed::kText) ReadStored(list, source, f, content);
      if (list.fields[f].feed == Feed::kMask) ReadMaskFile(list, source, f, content);
    } catch (const Error&) {  // the text or the mask is not valid
      continue;
    }
  }
}

void ReadAsSource(Bytes archive) {
  const ScratchFile file(archive);
  SourceList list;
  try {
    list = ReadTars(ConvertSource::Archives({file.path()}), 1, {});
  } catch (const Error&) {
    return;
  }
  list.MakeSchema().Validate();
  for (std::size_t i = 0; i < list.sources.size(); ++i)
    ReadAll(list, i, archive.size());
}

// Appends a member with its header and padding.
void AddMember(Input& archive, const std::string& name, Bytes content, char type = '0') {
  Input header(kTarBlock);
  const auto put = [&header](std::size_t at, std::string_view text) {
    std::memcpy(header.data() + at, text.data(), text.size());
  };
  char size[12] = {};
  std::snprintf(size, sizeof(size), "%011zo", content.size());
  put(0, std::string_view(name).substr(0, 100));
  put(124, {size, sizeof(size)});
  header[156] = static_cast<std::byte>(type);
  put(257, {"ustar\0"
            "00",
            8});
  Reseal(header);
  archive.insert(archive.end(), header.begin(), header.end());
  archive.insert(archive.end(), content.begin(), content.end());
  archive.resize(AlignUp(archive.size(), kTarBlock));
}

}  // namespace

// The input is an archive. It is read as it is, and with the checksums of its headers corrected.
void RunTar(Bytes input) {
  Input archive(input.begin(), input.end());
  Walk(archive, false);
  ReadAsSource(archive);
  Walk(archive, true);
  ReadAsSource(archive);
}

std::vector<Input> TarSeeds() {
  const Input jpeg = test::MakeJpeg(test::MakePicture(8, 8));
  Input plain;
  AddMember(plain, "train/", {}, '5');
  AddMember(plain, "train/0001.jpg", jpeg);
  AddMember(plain, "train/0001.cls", AsBytes("3\n"));
  AddMember(plain, "train/0001.json", AsBytes("{\"a\":1}"));
  AddMember(plain, "train/0002.jpg", jpeg);
  AddMember(plain, "train/0002.cls", AsBytes("7"));
  AddMember(plain, "train/0002.txt", AsBytes("a red tram"));
  AddMember(plain, "train/0002.mask.png", AsBytes("\x89PNG\r\n\x1a\n"));
  plain.resize(plain.size() + 2 * kTarBlock);
  Input named;
  AddMember(named, "pax", AsBytes("22 path=a/b/long.jpg\n\n13 size=00000\n"), 'x');
  AddMember(named, "short.jpg", jpeg);
  AddMember(named, "././@LongLink", AsBytes(std::string_view("a/long/name.png\0", 16)), 'L');
  AddMember(named, "cut.png", jpeg);
  AddMember(named, "link.jpg", {}, '2');
  AddMember(named, ".hidden.jpg", jpeg);
  return {plain, named};
}

}  // namespace sluice::fuzz
