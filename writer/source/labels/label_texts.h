// Label files that are texts: one for each image, at the image's path, with a line for each object.
// YOLO's and DOTA's are such files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "writer/source/labels/annotations.h"

namespace sluice {

// Reads a text of labels or of classes into `content`. Throws Error.
std::string_view ReadLabelText(const std::filesystem::path& file, std::vector<std::byte>& content);

// The lines of a text, without its byte order mark.
std::vector<std::string_view> LinesOf(std::string_view text);

// Adds what a line, which is not blank, says to its image. Throws Error(kCorrupt).
using ReadLabelLine = std::function<void(std::string_view line, AnnotatedImage& image)>;

// Adds to `read` the images below ConvertSource::root, each with the objects of its label file, and
// all that is broken, passed over or worth a warning. An image without a label file has no objects.
// Throws Error(kNotFound) if no image has a label file: the folder is probably the wrong one.
void ReadLabelTexts(const ConvertSource& source, const std::stop_token& stop,
                    const ReadLabelLine& read_line, Annotations& read);

// Whether a line is one of DOTA's, which YOLO's reader cannot read.
bool IsDotaLine(std::string_view line);

// Replaces the objects' numbers of classes, which are places in `own`, by those that read.names has
// or gives for the same names. Images with other classes than those given become broken.
void TakeNumbersByName(const std::vector<std::string>& own, Annotations& read);

}  // namespace sluice
