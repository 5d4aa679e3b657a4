// Transforms parsed from text, as they are typed on a command line.
#include <algorithm>
#include <set>

#include <sluice/error.h>
#include <sluice/parse_pipeline.h>

#include "tests/catch.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("each geometric step is read with its numbers") {
  const Pipeline steps =
      ParsePipeline("rrc:200x100,resize:64,short:256,center:224x192,crop:32+4,crop:28,flip");
  REQUIRE(steps.size() == 7);
  CHECK(std::get<RandomResizedCrop>(steps[0]).width == 200);
  CHECK(std::get<RandomResizedCrop>(steps[0]).height == 100);
  CHECK(std::get<Resize>(steps[1]).height == 64);
  CHECK(std::get<ResizeShortSide>(steps[2]).side == 256);
  CHECK(std::get<CenterCrop>(steps[3]).height == 192);
  CHECK(std::get<RandomCrop>(steps[4]).width == 32);
  CHECK(std::get<RandomCrop>(steps[4]).padding == 4);
  CHECK(std::get<RandomCrop>(steps[5]).padding == 0);
  CHECK(std::get<HorizontalFlip>(steps[6]).probability == 0.5);
  CHECK(ParsePipeline("none").empty());
}

TEST_CASE("a resize is read with its filter, and gets the triangle filter if none is named") {
  const Pipeline steps = ParsePipeline("rrc:224:area,resize:64:area,short:256:area,rrc:96");
  CHECK(std::get<RandomResizedCrop>(steps[0]).width == 224);
  CHECK(std::get<RandomResizedCrop>(steps[0]).filter == Filter::kArea);
  CHECK(std::get<Resize>(steps[1]).filter == Filter::kArea);
  CHECK(std::get<ResizeShortSide>(steps[2]).side == 256);
  CHECK(std::get<ResizeShortSide>(steps[2]).filter == Filter::kArea);
  CHECK(std::get<RandomResizedCrop>(steps[3]).filter == Filter::kTriangle);
}

TEST_CASE("changes in HSV and distortions are read with their numbers") {
  const Pipeline steps = ParsePipeline("hsv,hsv:0.1,hsv:0.1/0.2/0.3@0.4,distort,distort:0.3");
  REQUIRE(steps.size() == 5);
  const auto first = std::get<RandomHSV>(steps[0]), third = std::get<RandomHSV>(steps[2]);
  CHECK((first.hue == 0.015 && first.saturation == 0.7 && first.value == 0.4));
  CHECK(std::get<RandomHSV>(steps[1]).hue == 0.1);
  CHECK((third.hue == 0.1 && third.saturation == 0.2 && third.value == 0.3));
  CHECK((first.probability == 1 && third.probability == 0.4));
  CHECK(std::get<RandomPhotometricDistort>(steps[3]).probability == 0.5);
  CHECK(std::get<RandomPhotometricDistort>(steps[4]).probability == 0.3);
  CHECK_THROWS_WITH(ParsePipeline("hsv:0.6"), ContainsSubstring("hue"));
}

TEST_CASE("steps that change pixels are read with their numbers") {
  const Pipeline steps = ParsePipeline(
      "rrc:64,jitter:0.4/0.3/0.2/0.1,jitter:0.5,gray:0.2,gray,blur:23,blur:9/0.1/2,solarize,"
      "solarize:100,posterize:3,equalize:0.5,autocontrast,invert,sharpness:1.5,erase:0.25,"
      "normalize:f16");
  REQUIRE(steps.size() == 16);
  const auto jitter = std::get<ColorJitter>(steps[1]);
  CHECK((jitter.brightness == 0.4 && jitter.contrast == 0.3 && jitter.saturation == 0.2 &&
         jitter.hue == 0.1));
  CHECK((std::get<ColorJitter>(steps[2]).brightness == 0.5 &&
         std::get<ColorJitter>(steps[2]).hue == 0));
  CHECK(std::get<RandomGrayscale>(steps[3]).probability == 0.2);
  CHECK(std::get<RandomGrayscale>(steps[4]).probability == 0.1);
  CHECK(std::get<GaussianBlur>(steps[5]).kernel == 23);
  CHECK(std::get<GaussianBlur>(steps[6]).min_sigma == 0.1);
  CHECK(std::get<GaussianBlur>(steps[6]).max_sigma == 2);
  CHECK(std::get<Solarize>(steps[7]).threshold == 128);
  CHECK(std::get<Solarize>(steps[8]).threshold == 100);
  CHECK(std::get<Posterize>(steps[9]).bits == 3);
  CHECK(std::get<Equalize>(steps[10]).probability == 0.5);
  CHECK(std::get<AdjustSharpness>(steps[13]).factor == 1.5);
  CHECK(std::get<RandomErasing>(steps[14]).probability == 0.25);
  CHECK(std::get<Normalize>(steps[15]).type == FloatType::kFloat16);
  CHECK(std::get<Normalize>(steps[15]).mean[2] == 0.406F);
}

TEST_CASE("steps that turn, pad and warp are read with their numbers") {
  const Pipeline steps = ParsePipeline(
      "crc:160:area,crop:32+4:reflect,translate:6,translate:3:reflect,vflip,vflip:0.2,turns,"
      "flip:0.25,affine:15,affine:30/0.1/0.8/1.2/5");
  REQUIRE(steps.size() == 10);
  CHECK(std::get<CenterResizedCrop>(steps[0]).width == 160);
  CHECK(std::get<CenterResizedCrop>(steps[0]).ratio == 0.875);
  CHECK(std::get<CenterResizedCrop>(steps[0]).filter == Filter::kArea);
  CHECK(std::get<RandomCrop>(steps[1]).padding == 4);
  CHECK(std::get<RandomCrop>(steps[1]).border == Border::kReflect);
  CHECK(std::get<RandomTranslate>(steps[2]).padding == 6);
  CHECK(std::get<RandomTranslate>(steps[2]).border == Border::kConstant);
  CHECK(std::get<RandomTranslate>(steps[3]).border == Border::kReflect);
  CHECK(std::get<VerticalFlip>(steps[4]).probability == 0.5);
  CHECK(std::get<VerticalFlip>(steps[5]).probability == 0.2);
  CHECK(std::get<RandomQuarterTurns>(steps[6]).probability == 0.75);
  CHECK(std::get<HorizontalFlip>(steps[7]).probability == 0.25);
  CHECK(std::get<RandomAffine>(steps[8]).min_degrees == -15);
  const auto affine = std::get<RandomAffine>(steps[9]);
  CHECK((affine.max_degrees == 30 && affine.translate_y == 0.1 && affine.min_scale == 0.8 &&
         affine.max_scale == 1.2 && affine.min_shear_x == -5 && affine.max_shear_x == 5));
}

TEST_CASE("steps of detectors are read with their numbers") {
  const Pipeline steps = ParsePipeline(
      "letterbox:640x480,letterbox:64:noscaleup:corner,zoomout,zoomout:2/3@0.7,ioucrop,"
      "scalejitter:1024,scalejitter:1024x512/0.8/1.25,fixedcrop:512,shortest:800,"
      "shortest:480-512-544+1333,perspective,perspective:0.3@0.9,affine:0/0.1/0.5/1.5/0+640,"
      "mosaic:320,mosaic:640/0.75/1.25");
  CHECK(std::get<Mosaic>(steps[13]).max_center == 1.5);
  const auto mosaic = std::get<Mosaic>(steps[14]);
  CHECK((mosaic.cell == 640 && mosaic.min_center == 0.75 && mosaic.max_center == 1.25));
  const auto letterbox = std::get<Letterbox>(steps[0]);
  CHECK((letterbox.width == 640 && letterbox.height == 480 && letterbox.scale_up &&
         letterbox.center && letterbox.fill == std::array<std::uint8_t, 3>{114, 114, 114}));
  CHECK((!std::get<Letterbox>(steps[1]).scale_up && !std::get<Letterbox>(steps[1]).center));
  CHECK((std::get<RandomZoomOut>(steps[2]).max_side == 4));
  const auto zoom = std::get<RandomZoomOut>(steps[3]);
  CHECK((zoom.min_side == 2 && zoom.max_side == 3 && zoom.probability == 0.7));
  CHECK(std::get<RandomIoUCrop>(steps[4]).sampler_options.size() == 7);
  CHECK(std::get<ScaleJitter>(steps[5]).max_scale == 2);
  const auto jitter = std::get<ScaleJitter>(steps[6]);
  CHECK((jitter.target_width == 1024 && jitter.target_height == 512 && jitter.min_scale == 0.8));
  CHECK(std::get<FixedSizeCrop>(steps[7]).height == 512);
  CHECK(std::get<RandomShortestSize>(steps[8]).max_size == 0);
  const auto shortest = std::get<RandomShortestSize>(steps[9]);
  CHECK((shortest.min_size == std::vector<std::uint32_t>{480, 512, 544} &&
         shortest.max_size == 1333));
  CHECK(std::get<RandomPerspective>(steps[10]).distortion_scale == 0.5);
  const auto perspective = std::get<RandomPerspective>(steps[11]);
  CHECK((perspective.distortion_scale == 0.3 && perspective.probability == 0.9));
  CHECK((std::get<RandomAffine>(steps[12]).width == 640 &&
         std::get<RandomAffine>(steps[12]).height == 640));
}

TEST_CASE("augmentations and steps for batches are read with their numbers") {
  const Pipeline steps = ParsePipeline(
      "randaug,randaug:3/12,randaug:1/4/10,trivialaug,trivialaug:0.5,onehot,onehot:0.1,mixup,"
      "mixup:0.4,cutmix:1/0.5,copypaste,copypaste:0.3:flip");
  REQUIRE(steps.size() == 12);
  CHECK(std::get<RandAugment>(steps[0]).magnitude == 9);
  CHECK(std::get<RandAugment>(steps[1]).operations == 3);
  CHECK(std::get<RandAugment>(steps[1]).magnitude == 12);
  CHECK(std::get<RandAugment>(steps[2]).bins == 10);
  CHECK(std::get<TrivialAugmentWide>(steps[4]).probability == 0.5);
  CHECK(std::get<OneHot>(steps[5]).smoothing == 0);
  CHECK(std::get<OneHot>(steps[6]).smoothing == 0.1);
  CHECK(std::get<MixUp>(steps[7]).alpha == 0.2);
  CHECK(std::get<MixUp>(steps[8]).alpha == 0.4);
  CHECK(std::get<CutMix>(steps[9]).probability == 0.5);
  CHECK(
      (std::get<CopyPaste>(steps[10]).probability == 0.5 && !std::get<CopyPaste>(steps[10]).flip));
  CHECK((std::get<CopyPaste>(steps[11]).probability == 0.3 && std::get<CopyPaste>(steps[11]).flip));
}

TEST_CASE("a step's probability is read after it, and so are shares and ratios of crops") {
  const Pipeline steps = ParsePipeline(
      "rrc:224/0.2/0.9,rrc:64x32/0.25/1/0.5/2:area,jitter:0.4/0.4/0.2/0.1@0.8,blur:23/0.1/2@0.5,"
      "solarize:100@0.2,flip@0.3,erase:0.5/0.1/0.2,mixup:0.8@0.25");
  REQUIRE(steps.size() == 8);
  const auto first = std::get<RandomResizedCrop>(steps[0]);
  CHECK((first.width == 224 && first.min_scale == 0.2 && first.max_scale == 0.9 &&
         first.min_ratio == 3.0 / 4 && first.filter == Filter::kTriangle));
  const auto second = std::get<RandomResizedCrop>(steps[1]);
  CHECK((second.height == 32 && second.max_scale == 1 && second.min_ratio == 0.5 &&
         second.max_ratio == 2 && second.filter == Filter::kArea));
  CHECK(std::get<ColorJitter>(steps[2]).probability == 0.8);
  CHECK(std::get<ColorJitter>(steps[2]).hue == 0.1);
  CHECK(std::get<GaussianBlur>(steps[3]).probability == 0.5);
  CHECK(std::get<GaussianBlur>(steps[3]).max_sigma == 2);
  CHECK(std::get<Solarize>(steps[4]).probability == 0.2);
  CHECK(std::get<Solarize>(steps[4]).threshold == 100);
  CHECK(std::get<HorizontalFlip>(steps[5]).probability == 0.3);
  CHECK(std::get<RandomErasing>(steps[6]).max_scale == 0.2);
  CHECK(std::get<MixUp>(steps[7]).probability == 0.25);
}

TEST_CASE("blanks around steps are ignored, and messages quote the beginning of a long text") {
  const Pipeline steps = ParsePipeline(" rrc:224, flip ,\tnormalize\n");
  REQUIRE(steps.size() == 3);
  CHECK(std::get<HorizontalFlip>(steps[1]).probability == 0.5);
  CHECK(ParsePipeline(" none ").empty());
  for (const std::size_t length : {400'000, 5'000'000}) {
    try {
      ParsePipeline(std::string(length, '['));
      FAIL_CHECK("not refused");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kInvalidArgument);
      CHECK(std::string_view(error.what()).size() < 2000);
    }
  }
}

TEST_CASE("a text that is not a transform is refused") {
  for (const char* text : {"",
                           "rrc",
                           "rrc:",
                           "rrc:0",
                           "resize:2x",
                           "short:3x4",
                           "crop:32+",
                           "crop:+4",
                           "flip:2",
                           "none,flip",
                           "rrc:224,",
                           "smear:3",
                           "center:224:area",
                           "flip:area",
                           "rrc:area",
                           "rrc:8:cubic",
                           "jitter",
                           "jitter:1/1/1/1/1",
                           "jitter:a",
                           "jitter:",
                           "gray:2",
                           "gray:",
                           "blur",
                           "posterize:9",
                           "invert:0.5/1",
                           "normalize:f8",
                           "crop:32:reflect",
                           "translate",
                           "vflip:",
                           "turns:2",
                           "affine",
                           "affine:1/2/3",
                           "affine:1+640",
                           "letterbox",
                           "letterbox:0",
                           "zoomout:3",
                           "zoomout:0.5/3",
                           "zoomout:2/99",
                           "ioucrop:3",
                           "ioucrop@0.5",
                           "scalejitter:64/0.5",
                           "shortest:",
                           "shortest:48-",
                           "shortest:48-0",
                           "shortest:48/64",
                           "perspective:1.5",
                           "randaug:2",
                           "mixup:0.2/0.5/1",
                           "onehot:2",
                           "blur:23.5",
                           "randaug:2.7/9",
                           "randaug:2/9.5",
                           "rrc:224@0.5",
                           "flip@",
                           "flip@2",
                           "flip@0.5@0.5",
                           "@0.5",
                           "rrc:224/0.2",
                           "rrc:224/0.2/1/0.5",
                           "rrc:224/",
                           "erase:0.5/0.2"}) {
    CAPTURE(text);
    try {
      ParsePipeline(text);
      FAIL_CHECK("it is accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kInvalidArgument);
    }
  }
}

TEST_CASE("an unreadable step is named with the arguments it takes") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      ParsePipeline(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal("rrc:224,smear:3,flip"),
             ContainsSubstring("\"smear:3\"") && ContainsSubstring("the steps are: rrc, resize"));
  CHECK_THAT(refusal("flip,jitter:1/1/1/1/1"),
             ContainsSubstring("\"jitter:1/1/1/1/1\"") &&
                 ContainsSubstring("takes jitter:brightness[/contrast[/saturation[/hue]]]"));
  CHECK_THAT(refusal("short:3x4"), ContainsSubstring("\"3x4\" instead of a whole number"));
  CHECK_THAT(refusal("posterize:9"), ContainsSubstring("Posterize needs 1 <= bits <= 8"));
}

TEST_CASE("a step's name in torchvision or FFCV, or a mistyped one, is answered with its form") {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      ParsePipeline(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::pair<const char*, const char*> meant[] = {
      {"RandomResizedCrop", "rrc:size[/scale/scale[/ratio/ratio]]"},
      {"RandomResizedCrop(224)", "rrc:size"},
      {"transforms.RandomHorizontalFlip(p=0.5)", "flip[:probability]"},
      {"T.CenterCrop(224)", "center:size"},
      {"CenterCropRGBImageDecoder", "crc:size"},
      {"RandomResizedCropRGBImageDecoder", "rrc:size"},
      {"Normalize", "normalize"},
      {"NormalizeImage", "normalize"},
      {"ToDtype", "normalize"},
      {"Cutout", "erase"},
      {"RandomRotation", "affine:degrees"},
      {"ColorJitter:0.4", "jitter:brightness"},
      {"Grayscale", "gray"},
      {"resize 224", "resize:size"},
      {"Resize((224, 224))", "resize:size"},
      {"Resize(224)", "short:side"},
      {"resise:224", "resize:size"},
      {"norm", "normalize"},
  };
  for (const auto& [text, form] : meant) {
    CAPTURE(text);
    CHECK_THAT(refusal(text),
               ContainsSubstring("is not a step; did you mean " + std::string(form)));
  }
  for (const char* text : {"ToTensor", "ToTensor()", "v2.ToImage()", "ToTorchImage"})
    CHECK_THAT(refusal(text), ContainsSubstring("needs none: batches are arrays; leave it out"));
  for (const char* text : {"flip,none", "none,none", "None"})
    CHECK_THAT(refusal(text), ContainsSubstring("for no steps, write none alone"));
}

TEST_CASE("every step has its own text form, whose name is parsed") {
  const std::vector<std::string> forms = PipelineSteps();
  CHECK(forms.size() == std::variant_size_v<Transform>);
  CHECK(std::find(forms.begin(), forms.end(), "crop:size[+padding][:reflect]") != forms.end());
  CHECK(std::find(forms.begin(), forms.end(), "normalize[:f16|:bf16]") != forms.end());
  std::set<std::size_t> kinds;
  for (const std::string& form : forms) {
    std::string text = form.substr(0, form.find_first_of(":[("));
    const char after = form[text.size()];
    if (after == '(') text += "(1*flip|2*vflip)";
    if (after == ':') text += ":3";  // each step with a required argument takes a 3
    CAPTURE(form, text);
    kinds.insert(ParsePipeline(text).at(0).index());
  }
  CHECK(kinds.size() == forms.size());
}

TEST_CASE("a step is one expression, whatever arguments it has") {
  const Pipeline steps = {RandomResizedCrop(224).scale(.35, 1).with_filter(Filter::kArea),
                          RandomAffine(15).translate(.1, .2).with_probability(.5),
                          ColorJitter(.4, .4, .4), GaussianBlur(23).sigma(.1, 1),
                          RandAugment(2, 9).with_bilinear().with_fill({1, 2, 3})};
  const auto crop = std::get<RandomResizedCrop>(steps[0]);
  CHECK((crop.width == 224 && crop.min_scale == .35 && crop.max_scale == 1 &&
         crop.filter == Filter::kArea));
  const auto affine = std::get<RandomAffine>(steps[1]);
  CHECK((affine.min_degrees == -15 && affine.max_degrees == 15 && affine.translate_x == .1 &&
         affine.translate_y == .2 && affine.probability == .5));
  const auto jitter = std::get<ColorJitter>(steps[2]);
  CHECK((jitter.brightness == .4 && jitter.contrast == .4 && jitter.saturation == .4 &&
         jitter.hue == 0 && jitter.probability == 1));
  const auto blur = std::get<GaussianBlur>(steps[3]);
  CHECK((blur.kernel == 23 && blur.min_sigma == .1 && blur.max_sigma == 1));
  const auto augment = std::get<RandAugment>(steps[4]);
  CHECK((augment.operations == 2 && augment.magnitude == 9 && augment.bins == 31 &&
         augment.bilinear && augment.fill == std::array<std::uint8_t, 3>{1, 2, 3}));
}

}  // namespace sluice::test
