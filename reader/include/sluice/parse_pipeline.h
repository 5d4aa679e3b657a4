// A pipeline as a line of text, for command lines, configuration files and logs.
//
//   rrc:224,flip,jitter:0.4/0.4/0.4/0.1@0.8,normalize
//
// Steps are joined by commas; "none" is a pipeline without any. S is a size in pixels, N for a
// square or WxH. Brackets mark what may be left out and is then the step's default; numbers follow
// one another with / between. @P behind a step takes it with probability P.
//
//   rrc:S[/LOW/HIGH[/LOW/HIGH]][:area]   RandomResizedCrop: shares of the area, then ratios
//   resize:S[:area]                      Resize
//   short:N[:area]                       ResizeShortSide
//   center:S                             CenterCrop
//   crc:S[:area]                         CenterResizedCrop
//   crop:S[+P[:reflect]]                 RandomCrop with P pixels of padding
//   translate:P[:reflect]                RandomTranslate
//   flip[:P], vflip[:P], turns[:P]       HorizontalFlip, VerticalFlip, RandomQuarterTurns
//   affine:DEG[/SHIFT[/LOW/HIGH[/SHEAR]]]  RandomAffine: at most so many degrees either way, shares
//                                        of the sides, scales, degrees of shear either way
//   jitter:B[/C[/S[/H]]]                 ColorJitter; what is left out stays as it is
//   gray[:P]                             RandomGrayscale
//   blur:K[/SIGMA[/HIGH]]                GaussianBlur; one sigma alone is always taken
//   solarize[:T], posterize:B            Solarize, Posterize
//   equalize[:P], autocontrast[:P], invert[:P]
//   sharpness:F                          AdjustSharpness
//   erase[:P[/LOW/HIGH]]                 RandomErasing: shares of the area
//   randaug[:N/M[/BINS]], trivialaug[:P] RandAugment, TrivialAugmentWide
//   normalize[:f32|:f16|:bf16]           Normalize by ImageNet's mean and deviation
//   onehot[:SMOOTHING]                   OneHot
//   mixup[:ALPHA[/P]], cutmix[:ALPHA[/P]]
#pragma once

#include <string_view>

#include <sluice/transform.h>

namespace sluice {

// Throws Error(kInvalidArgument) that names the step and what it takes. Whether steps may stand in
// that order, a loader says.
Pipeline ParsePipeline(std::string_view text);

}  // namespace sluice
