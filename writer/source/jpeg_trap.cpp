#include "writer/source/jpeg_trap.h"

#include <new>
#include <string>

#include <sluice/error.h>

#include "writer/source/cut_short.h"

namespace sluice {

namespace {

// A progressive file may repeat scans at will, and each is a pass over the whole picture. Real
// programs write about 10.
constexpr int kMaxScans = 100;

// The coefficients of the largest picture that max_pixels allows (2^28), at two bytes each, for a
// progressive file with three full-size components.
constexpr long kMaxLibraryBytes = 1'700'000'000;

// Data is missing: at the file's end, at a marker that comes too soon, or between restart markers.
bool EndsEarly(int message) noexcept {
  return message == JWRN_JPEG_EOF || message == JWRN_HIT_MARKER || message == JWRN_MUST_RESYNC;
}

bool DamagesPixels(int message) noexcept {
#ifdef D_ARITH_CODING_SUPPORTED
  if (message == JWRN_ARITH_BAD_CODE) return true;
#endif
  return EndsEarly(message) || message == JWRN_HUFF_BAD_CODE;
}

[[noreturn]] void JumpOut(j_common_ptr common) {
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  common->err->format_message(common, trap->text);
  std::longjmp(trap->jump, 1);
}

void OnMessage(j_common_ptr common, int level) {
  const int message = common->err->msg_code;
  if (level >= 0 || !DamagesPixels(message)) return;
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  if (trap->cut_short[0] != 0) return;  // after the end, all data is made up
  if (!trap->takes_cut_short || !EndsEarly(message)) JumpOut(common);
  common->err->format_message(common, trap->cut_short);
}

void OnProgress(j_common_ptr common) {
  if (!common->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMaxScans) return;
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  trap->base.msg_code = 0;  // not one of libjpeg's messages
  std::snprintf(trap->text, sizeof(trap->text), "has more than %d scans", kMaxScans);
  std::longjmp(trap->jump, 1);
}

bool IsUnsupported(int message) noexcept {
#if JPEG_LIB_VERSION < 70  // later interfaces have no such message
  if (message == JERR_ARITH_NOTIMPL) return true;
#endif
  return message == JERR_SOF_UNSUPPORTED || message == JERR_BAD_PRECISION ||
         message == JERR_CONVERSION_NOTIMPL || message == JERR_NOTIMPL ||
         message == JERR_NOT_COMPILED || message == JERR_FRACT_SAMPLE_NOTIMPL ||
         message == JERR_CCIR601_NOTIMPL;
}

}  // namespace

JpegTrap::JpegTrap() {
  jpeg_std_error(&base);
  base.error_exit = JumpOut;
  base.emit_message = OnMessage;
}

void JpegTrap::Throw() const {
  if (base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (IsUnsupported(base.msg_code)) {
    throw Error(ErrorCode::kUnsupported, std::string("unsupported JPEG: ") + text);
  }
  if (EndsEarly(base.msg_code)) throw CutShort("broken JPEG", text);
  throw Error(ErrorCode::kCorrupt, std::string("broken JPEG: ") + text);
}

JpegReading::JpegReading() {
  object.err = &trap.base;
  if (setjmp(trap.jump) != 0) trap.Throw();
  jpeg_create_decompress(&object);
  object.mem->max_memory_to_use = kMaxLibraryBytes;
  progress_.progress_monitor = OnProgress;
  object.progress = &progress_;
}

JpegReading::~JpegReading() {
  jpeg_destroy_decompress(&object);
}

}  // namespace sluice
