// The one exception type of Sluice's public surface.
//
// A new ErrorCode also goes into these files, where
// "[!=]= ErrorCode::(kMemory|kUnsupported)|case ErrorCode::k|`kUnsupported`" shows how:
//   format/error.cpp                      its name; Python, JSON and the site take it from there
//   format/disk/system_error.h            SaysDataIsLost(); IsShortage() is in error.cpp
//   samples/guides/errors.md              the table, which a test compares
//   tools/export.cpp                      this and those below: is one sample at fault, or all?
//   tools/preview.cpp
//   tools/stats.cpp
//   writer/dataset_writer.cpp
//   writer/convert/place.cpp
//   writer/edit/new_version.cpp
//   writer/edit/repair.cpp
//   writer/edit/versions.cpp              does a manifest count that cannot be read?
//   writer/source/list/store_files.cpp
//   reader/decoding/row_sources.cpp
//   reader/decoding/sample_reader.h
//   not tests/                            they name the codes that they expect
// tools/cli/program.cpp turns the code into an exit code: 2 for kInvalidArgument, 1 for all others.
// The comment of a function that throws an Error names its code.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace sluice {

// The kinds of errors, for programs that react to them.
enum class ErrorCode {
  kInvalidArgument,  // an option or an argument is out of range, or two of them do not fit together
  kNotFound,         // a file, dataset, field or sample that does not exist
  kIo,               // opening, reading or writing failed, or a file changed while it was used
  kCorrupt,          // bytes that break the format, or a checksum that does not match
  kUnsupported,      // a version, codec or image kind that this build does not read
  kUnfinished,       // a dataset whose conversion has not been finished
  kExists,           // the target holds something else already
  kLimit,            // a limit of format/FORMAT.md, of README.md or of this machine is exceeded
  kState,            // the call cannot be answered at this moment (say, all batches are held)
  kMemory,           // there is too little memory or address space; the data are not at fault
};

// A short lower-case name, such as "corrupt".
const char* ErrorCodeName(ErrorCode code) noexcept;

// Thrown for every error that a caller can do something about. what() is a sentence for a person:
// what happened, to which file and sample, and what to do next. code() is for programs.
//
// Copies of an Error share their text. Copying therefore allocates no memory, and an Error can be
// kept or handed to another thread even when memory has run out.
class Error : public std::runtime_error {
 public:
  // `file` is the file that the error is about. `place` is the position in that file, in words,
  // such as "block 3, sample 17". Either may be empty. what() reads "file: place: sentence".
  Error(ErrorCode code, std::string file, std::string place, const std::string& sentence);
  // Without a place.
  Error(ErrorCode code, std::string file, const std::string& sentence);
  // Without a file and a place.
  Error(ErrorCode code, const std::string& sentence);

  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;

  // "file: place: sentence".
  const char* what() const noexcept override { return text_->whole.c_str(); }
  // The kind of the error, for programs.
  ErrorCode code() const noexcept { return code_; }
  // The file that the error is about; may be empty.
  const std::string& file() const noexcept { return text_->file; }
  // Where in the file, such as "block 3, sample 17"; may be empty.
  const std::string& place() const noexcept { return text_->place; }
  // The sentence alone, without file and place.
  const std::string& sentence() const noexcept { return text_->sentence; }

 private:
  struct Text {
    std::string whole;
    std::string file;
    std::string place;
    std::string sentence;
  };

  ErrorCode code_;
  std::shared_ptr<const Text> text_;
};

}  // namespace sluice
