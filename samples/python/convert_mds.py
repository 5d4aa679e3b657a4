"""Copies a dataset of MosaicML Streaming into one of Sluice: convert_mds.py MDS_FOLDER DATASET

Needs mosaicml-streaming. The columns must be "image" (jpeg, png, pil or bytes) and "label" (int).
"""

import sys

import streaming

import sluice


def stored(image):
    """Returns the bytes of a JPEG file, which Sluice stores as they are. Sluice encodes other pictures."""
    return image.fp.getvalue() if getattr(image, "format", None) == "JPEG" else image


source = streaming.StreamingDataset(local=sys.argv[1], shuffle=False, batch_size=1)
fields = [sluice.Field.image(), sluice.Field.label()]
with sluice.Writer(sys.argv[2], fields, quality=95) as writer:
    writer.add_all((f"{number:08}", {"image": stored(sample["image"]), "label": sample["label"]})
                   for number, sample in enumerate(source))
