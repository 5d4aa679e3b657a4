#include "tools/cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLogLine = std::chrono::minutes(1);
constexpr std::size_t kMostBar = 30;
constexpr std::size_t kLeastBar = 5;

std::size_t TerminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

double Share(const ProgressFigures& figures) {
  if (figures.total == 0) return 0;
  return std::min(1.0, static_cast<double>(figures.done) / static_cast<double>(figures.total));
}

std::string TimeLeft(const ProgressFigures& figures) {
  if (figures.per_second <= 0 || figures.done >= figures.total) return "";
  return ClockText(static_cast<double>(figures.total - figures.done) / figures.per_second) +
         " left";
}

std::string Bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return Format("[%s%s] ", std::string(full, '#').c_str(), std::string(width - full, '.').c_str());
}

}  // namespace

std::string ProgressLine(const ProgressFigures& figures, std::size_t columns) {
  const std::string front = figures.activity + " ";
  std::string back;
  if (figures.total == 0) {
    back = std::to_string(figures.done);
  } else {
    // Percentages round down, so that 100% means everything is done.
    back = Format("%3d%%  %llu/%llu", static_cast<int>(Share(figures) * 100),
                  static_cast<unsigned long long>(figures.done),
                  static_cast<unsigned long long>(figures.total));
  }
  if (figures.per_second > 0) back += "  " + RateText(figures.per_second) + " images/s";
  if (figures.bytes > 0) back += "  " + BytesText(figures.bytes);
  const std::string left = TimeLeft(figures);
  if (!left.empty()) back += "  " + left;

  const std::size_t used = front.size() + back.size() + 3;  // brackets and a blank
  std::string line = front;
  if (figures.total > 0 && used + kLeastBar <= columns) {
    line += Bar(Share(figures), std::min(kMostBar, columns - used));
  }
  line += back;
  if (line.size() > columns) line.resize(columns);
  return line;
}

std::string ProgressSentence(const ProgressFigures& figures) {
  std::string text = figures.activity + ": " + std::to_string(figures.done) + " of " +
                     std::to_string(figures.total) + " images" +
                     Format(" (%d%%)", static_cast<int>(Share(figures) * 100));
  if (figures.per_second > 0) text += ", " + RateText(figures.per_second) + " images/s";
  if (figures.bytes > 0) text += ", " + BytesText(figures.bytes);
  const std::string left = TimeLeft(figures);
  if (!left.empty()) text += ", " + left;
  return text;
}

ProgressStyle ProgressStyleFor(bool silent) {
  if (silent) return ProgressStyle::kSilent;
  return isatty(STDERR_FILENO) == 1 ? ProgressStyle::kTerminal : ProgressStyle::kLog;
}

Progress::Progress(ProgressStyle style, std::string activity, const std::string& title)
    : style_(style) {
  figures_.activity = std::move(activity);
  if (style_ == ProgressStyle::kLog) std::fprintf(stderr, "%s\n", Printable(title).c_str());
}

void Progress::SetActivity(const std::string& activity) {
  if (figures_.activity == activity) return;
  figures_.activity = activity;
  begun_ = false;
}

void Progress::Update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) {
  if (style_ == ProgressStyle::kSilent) return;
  const Clock::time_point now = Clock::now();
  if (!begun_) {
    begun_ = true;
    first_done_ = done;
    first_ = now;
    if (last_drawn_ == Clock::time_point() && style_ == ProgressStyle::kLog) last_drawn_ = now;
  }
  const auto interval = style_ == ProgressStyle::kTerminal ? Clock::duration(kRedraw) : kLogLine;
  const bool last = style_ == ProgressStyle::kTerminal && total > 0 && done == total;
  if (!last && last_drawn_ != Clock::time_point() && now - last_drawn_ < interval) return;
  last_drawn_ = now;

  figures_.done = done;
  figures_.total = total;
  figures_.bytes = bytes;
  // In the first second the rate says little, and the time left would jump about.
  const double seconds = std::chrono::duration<double>(now - first_).count();
  figures_.per_second = seconds < 1 ? 0 : static_cast<double>(done - first_done_) / seconds;
  if (style_ == ProgressStyle::kTerminal) {
    // The last column stays empty: writing there makes some terminals wrap.
    std::fprintf(stderr, "\r\033[K%s", ProgressLine(figures_, TerminalColumns() - 1).c_str());
    on_screen_ = true;
  } else {
    std::fprintf(stderr, "%s\n", ProgressSentence(figures_).c_str());
  }
}

void Progress::Erase() {
  if (!on_screen_) return;
  std::fputs("\r\033[K", stderr);
  on_screen_ = false;
  last_drawn_ = Clock::time_point();
}

}  // namespace sluice::cli
