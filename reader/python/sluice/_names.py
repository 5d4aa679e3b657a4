"""Names of torchvision, PyTorch, FFCV and others that a user may look for in sluice, and what they are called here."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_NO_TENSORS = "not needed: batch.torch() gives tensors, output=sluice.OutputOptions(layout='nchw') puts channels first"
_NO_DECODER = "not needed: a batch has each field in its own type, as batch['label']"
_NO_STEP = "not a step here; reader/TRANSFORMS.md says for each transform of torchvision what to use instead"

_ELSEWHERE = {
    # torchvision
    "Compose": "a list of steps, as transform=[sluice.RandomResizedCrop(224), sluice.HorizontalFlip()]",
    "RandomHorizontalFlip": "sluice.HorizontalFlip",
    "RandomVerticalFlip": "sluice.VerticalFlip",
    "RandomRotation": "sluice.RandomAffine(degrees), or sluice.RandomQuarterTurns",
    "RandomSolarize": "sluice.Solarize",
    "RandomPosterize": "sluice.Posterize",
    "RandomEqualize": "sluice.Equalize",
    "RandomAutocontrast": "sluice.AutoContrast",
    "RandomInvert": "sluice.Invert",
    "RandomAdjustSharpness": "sluice.AdjustSharpness",
    "LetterBox": "sluice.Letterbox",
    "Grayscale": "output=sluice.OutputOptions(channels=1)",
    "RGB": "output=sluice.OutputOptions(channels=3)",
    "Lambda": "sample_function=..., an option of sluice.Loader",
    "ConvertImageDtype": "sluice.Normalize(type=...)",
    "ToDtype": "sluice.Normalize(type=...)",
    "AutoAugment": "not there; sluice.RandAugment and sluice.TrivialAugmentWide are",
    "AugMix": "not there; sluice.RandAugment and sluice.TrivialAugmentWide are",
    "InterpolationMode": "sluice.Filter",
    **dict.fromkeys(["ToTensor", "ToImage", "ToPureTensor", "PILToTensor", "ToPILImage", "ToTorchImage"], _NO_TENSORS),
    **dict.fromkeys(["ElasticTransform", "FiveCrop", "TenCrop", "GaussianNoise", "JPEG", "LinearTransformation", "Pad",
                     "RandomApply", "RandomChannelPermutation", "RandomOrder", "RandomResize", "Identity",
                     "ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes",
                     "SanitizeKeyPoints", "SetClampingMode", "UniformTemporalSubsample"], _NO_STEP),
    # timm and PyTorch
    "Mixup": "sluice.MixUp, after sluice.OneHot",
    "SimpleCopyPaste": "sluice.CopyPaste",
    "ImageFolder": "sluice.Source(folder) to play it as it is, or sluice.convert(folder, dataset)",
    "DataLoader": "sluice.Loader",
    "IterableDataset": "sluice.torch.IterableDataset, after `import sluice.torch`",
    "WeightedRandomSampler": "order=sluice.OrderOptions(samples=sluice.SampleList.weighted(weights, count, True))",
    "Subset": "order=sluice.OrderOptions(samples=sluice.SampleList.of(numbers))",
    # FFCV
    "OrderOption": "sluice.Shuffle, as order=sluice.OrderOptions(shuffle=sluice.Shuffle.RANDOM); QUASI_RANDOM is the "
                   "default",
    "DatasetWriter": "sluice.Writer, or sluice.convert(folder, dataset)",
    "RGBImageField": "sluice.Field.image()",
    "IntField": "sluice.Field.label()",
    "FloatField": "sluice.Field.array(name, 'float32')",
    "NDArrayField": "sluice.Field.array(name, dtype, shape)",
    "TorchTensorField": "sluice.Field.array(name, dtype, shape)",
    "BytesField": "sluice.Field.bytes(name)",
    "JSONField": "sluice.Field.bytes(name, 'json')",
    "RandomResizedCropRGBImageDecoder": "sluice.RandomResizedCrop",
    "CenterCropRGBImageDecoder": "sluice.CenterResizedCrop",
    "SimpleRGBImageDecoder": "not needed: images are decoded; without a step that resizes, they keep their size",
    "NormalizeImage": "sluice.Normalize, with numbers for pixels from 0 to 1",
    "Convert": "sluice.Normalize(type=...)",
    "ToDevice": "device='cuda:0', an option of sluice.Loader",
    "Squeeze": "not needed: a field of one number has one axis, the batch's rows",
    "Cutout": "sluice.RandomErasing(1, scale=..., ratio=(1, 1)), by the square's share of the area",
    "RandomBrightness": "sluice.ColorJitter(brightness=...)",
    "RandomContrast": "sluice.ColorJitter(contrast=...)",
    "RandomSaturation": "sluice.ColorJitter(saturation=...)",
    "ImageMixup": "sluice.MixUp, after sluice.OneHot",
    "LabelMixup": "sluice.MixUp, after sluice.OneHot",
    "MixupToOneHot": "sluice.OneHot",
    "ModuleWrapper": "batch_function=..., or your module on batch.torch() in the loop",
    "Operation": "sample_function=..., an option of sluice.Loader",
    "Poison": "sample_function=..., an option of sluice.Loader",
    "ReplaceLabel": "sample_function=..., an option of sluice.Loader",
    **dict.fromkeys(["IntDecoder", "FloatDecoder", "NDArrayDecoder", "BytesDecoder", "JSONDecoder"], _NO_DECODER),
    # others
    "ShardWriter": "sluice.Writer",
    "RandomMix": "sluice.Mixture",
    "WebLoader": "sluice.Loader",
    "TFRecordDataset": "sluice.Source(files) to play them as they are, or sluice.convert()",
    "pipeline_def": "sluice.Loader, whose transform is a list of steps",
    "DALIGenericIterator": "sluice.Loader, whose batches have batch.torch()",
    "DALIClassificationIterator": "sluice.Loader, whose batches have batch.torch()",
    "WebDataset": "sluice.Source(files) to play them as they are, or sluice.convert()",
    "load_dataset": "sluice.Source(files) to play Parquet files as they are, or sluice.convert()",
}


def missing(name: str, known: Collection[str]) -> str:
    """The error for a name that the module does not have."""
    text = f"module 'sluice' has no attribute {name!r}"
    if name == "torch":
        return text + "; write `import sluice.torch`"
    if name in _ELSEWHERE:
        return f"{text}; {'it is' if _ELSEWHERE[name].startswith('not ') else 'use'} {_ELSEWHERE[name]}"
    by_small = {one.lower(): one for one in known if one[0] != "_"}
    close = difflib.get_close_matches(name.lower(), by_small, 1)
    return f"{text}; did you mean {by_small[close[0]]!r}?" if close else text
