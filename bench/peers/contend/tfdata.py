"""tf.data from a TFRecord file, with one endless iterator."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy
import tensorflow as tf


def describe():
    return (
        f"tensorflow {tf.__version__}: TFRecord, decode_and_crop_jpeg, bilinear resize without antialiasing, "
        "AUTOTUNE, one endless iterator"
    )


def pack(items, folder, threads):
    with tf.io.TFRecordWriter(f"{folder}/samples.tfrecord") as writer:
        for number, path in items:
            with open(path, "rb") as file:
                data = file.read()
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def epochs(items, folder, threads, batch, size):
    def sample(record):
        parsed = tf.io.parse_single_example(record, {
            "image": tf.io.FixedLenFeature([], tf.string), "number": tf.io.FixedLenFeature([], tf.int64)})
        shape = tf.io.extract_jpeg_shape(parsed["image"])
        begin, length, _ = tf.image.sample_distorted_bounding_box(
            shape, tf.zeros([1, 0, 4]), min_object_covered=0.0, area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3), max_attempts=10, use_image_if_no_bounding_boxes=True)
        window = tf.concat([begin[:2], length[:2]], 0)
        image = tf.io.decode_and_crop_jpeg(parsed["image"], window, channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, (size, size)))
        return tf.cast(image + 0.5, tf.uint8), parsed["number"]

    dataset = tf.data.TFRecordDataset(f"{folder}/samples.tfrecord").shuffle(min(len(items), 5000)).repeat()
    dataset = dataset.map(sample, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
    dataset = dataset.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    stream = iter(dataset.with_options(options))
    batches = max(1, len(items) // batch)

    def epoch():
        for _ in range(batches):
            images, numbers = next(stream)
            yield images, numbers.numpy()

    while True:
        yield epoch()


def decode(items, folder, size):
    frames = []
    for _, path in items:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        frames.append(tf.cast(tf.image.resize(image, (size, size)) + 0.5, tf.uint8).numpy())
    return numpy.stack(frames)
