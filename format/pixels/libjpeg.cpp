// Three things end a decompression: an error, a warning after which libjpeg would make up pixels,
// and more scans than any real file has, which the progress monitor counts.
// Creating the object can fail already, so `err` is set before it; `progress` is set after each
// creation. The setjmp in the constructor is only for the creation there: every later call into
// libjpeg needs a setjmp in a function that is still running.
#include "format/pixels/libjpeg.h"

#include <new>

namespace sluice::libjpeg {

namespace {

// A progressive file may repeat scans at will, and each is a pass over the whole picture; no real
// file comes near this limit.
constexpr int kMaxScans = 100;

// Warnings after which libjpeg makes up pixels. Its other warnings are about markers and leave
// pixels alone.
bool DamagesPixels(int message) noexcept {
  switch (message) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_PROGRESSION: return true;
    default: return false;
  }
}

[[noreturn]] void OnError(j_common_ptr common) {
  auto* trap = reinterpret_cast<ErrorTrap*>(common->err);
  common->err->format_message(common, trap->text);
  std::longjmp(trap->jump, 1);
}

void OnMessage(j_common_ptr common, int level) {
  if (level < 0 && DamagesPixels(common->err->msg_code)) OnError(common);
}

void OnProgress(j_common_ptr common) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(common);
  if (decompress->input_scan_number > kMaxScans) {
    auto* trap = reinterpret_cast<ErrorTrap*>(common->err);
    trap->base.msg_code = 0;  // not one of libjpeg's messages
    std::snprintf(trap->text, sizeof(trap->text), "has more than %d scans", kMaxScans);
    std::longjmp(trap->jump, 1);
  }
}

}  // namespace

const char* ErrorTrap::Sentence() const {
  if (base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  return text;
}

jpeg_error_mgr* Set(ErrorTrap& trap) {
  jpeg_std_error(&trap.base);
  trap.base.error_exit = OnError;
  trap.base.emit_message = OnMessage;
  return &trap.base;
}

Decompressor::Decompressor() {
  object.err = Set(trap);
  progress.progress_monitor = OnProgress;
  if (setjmp(trap.jump) != 0) throw std::bad_alloc();  // only lack of memory can lead here
  jpeg_create_decompress(&object);
  object.progress = &progress;
}

Decompressor::~Decompressor() {
  jpeg_destroy_decompress(&object);
}

void Decompressor::Renew() {
  jpeg_destroy_decompress(&object);
  jpeg_create_decompress(&object);
  object.progress = &progress;
}

void ReadHeader(jpeg_decompress_struct& object, Bytes file) {
  jpeg_mem_src(&object, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&object, TRUE);
}

bool HasAllComponents(const jpeg_decompress_struct& object) noexcept {
  for (int c = 0; c < object.num_components; ++c) {
    // Set when a scan of the component begins.
    if (object.comp_info[c].quant_table == nullptr) return false;
  }
  return true;
}

}  // namespace sluice::libjpeg
