"""Copies a dataset of LitData into one of Sluice: convert_litdata.py LITDATA_FOLDER DATASET

Needs litdata. Samples must be {"image": bytes of a JPEG file, a PIL image, or a tensor of pixels, "label": int}.
"""

import sys

import litdata

import sluice


def stored(image):
    """LitData gives a JPEG as a tensor, channels first; Sluice takes height x width x channels."""
    return image.permute(1, 2, 0).numpy() if hasattr(image, "permute") else image


source = litdata.StreamingDataset(sys.argv[1])
fields = [sluice.Field.image(), sluice.Field.label()]
with sluice.Writer(sys.argv[2], fields, quality=95) as writer:
    writer.add_all((f"{number:08}", {"image": stored(sample["image"]), "label": sample["label"]})
                   for number, sample in enumerate(source))
