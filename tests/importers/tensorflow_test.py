"""TFRecords from TensorFlow: images, labels, texts, numbers and boxes equal those that TensorFlow reads."""

import importers

importers.need("tensorflow")

import json
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf

KEEP = ["--quality", "keep", "--no-resize"]
BOX = ["xmin", "ymin", "xmax", "ymax"]


def decoded(content):
    return tf.io.decode_jpeg(content, channels=3, dct_method="INTEGER_ACCURATE").numpy()


def example(i, path, label):
    def feature(**kinds):
        return tf.train.Feature(**kinds)
    boxes = [[k / 8, 0.125, 0.5 + k / 8, 0.875] for k in range(i % 3)]
    features = {
        "image/encoded": feature(bytes_list=tf.train.BytesList(value=[path.read_bytes()])),
        "image/class/label": feature(int64_list=tf.train.Int64List(value=[label])),
        "caption": feature(bytes_list=tf.train.BytesList(value=[f"a “picture”, number {i}".encode()])),
        "serial": feature(int64_list=tf.train.Int64List(value=[-(10 ** 12) - i])),
        "weight": feature(float_list=tf.train.FloatList(value=[i / 8])),
    }
    for k, side in enumerate(BOX):
        values = tf.train.FloatList(value=[box[k] for box in boxes])
        features[f"image/object/bbox/{side}"] = feature(float_list=values)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


with importers.Workplace() as place:
    half = len(place.files) // 2
    files = [place.folder / f"train-{k:05}-of-00002.tfrecord" for k in range(2)]
    for k, file in enumerate(files):
        with tf.io.TFRecordWriter(str(file)) as out:
            for i, (path, label) in enumerate(place.files):
                if (i >= half) == bool(k):
                    out.write(example(i, path, label))
    names = place.folder / "names.txt"
    names.write_text("\n".join(place.classes) + "\n")
    boxes = "+".join(f"image/object/bbox/{side}" for side in BOX)
    rows = place.convert(files, *KEEP, "--classes", names, "--field", "image/class/label=class", "--field",
                         "caption=text", "--field", "serial=int", "--field", "weight=float", "--field",
                         f"{boxes}=boxes:xyxy-relative")
    usual = place.convert(files, *KEEP, "--classes", names, name="usual")
    lists = {f"image/object/bbox/{side}": tf.io.RaggedFeature(tf.float32) for side in BOX}
    spec = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "caption": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64), "serial": tf.io.FixedLenFeature([], tf.int64),
            "weight": tf.io.FixedLenFeature([], tf.float32), **lists}
    samples = [tf.io.parse_single_example(record, spec) for record in tf.data.TFRecordDataset([str(f) for f in files])]
    importers.check("samples", [len(rows), len(usual)], [len(samples)] * 2)
    for i, (row, usual_row, sample) in enumerate(zip(rows, usual, samples)):
        sample = {name: value.numpy() for name, value in sample.items()}
        importers.check_pixels(f"image {i}", decoded, row["image"], sample["image/encoded"])
        importers.check(f"file {i}", usual_row["image"], row["image"])
        expected = {"image/class/label": place.classes[sample["image/class/label"]],
                    "caption": sample["caption"].decode()}
        importers.check(f"sample {i}", {name: usual_row[name] for name in expected}, expected)
        expected |= {"serial": str(sample["serial"]), "weight": str(sample["weight"])}
        importers.check(f"sample {i}", {name: row[name] for name in expected}, expected)
        height, width, _ = decoded(row["image"]).shape
        boxes = zip(*(sample[f"image/object/bbox/{side}"] for side in BOX))
        importers.check(f"boxes {i}", json.loads(row["boxes"]),
                        [[a * width, b * height, c * width, d * height] for a, b, c, d in boxes])
