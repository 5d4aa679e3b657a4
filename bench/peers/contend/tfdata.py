"""tf.data from a TFRecord file, with one endless iterator."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy
import tensorflow as tf

FIXED = "resized without antialiasing"
VIEWS = (
    FIXED + "; brightness, contrast, saturation and hue in a fixed order, in float32; a blur by two depthwise "
    "convolutions; the picture is decoded once for all views"
)
RECIPES = {"imagenet": FIXED, "simclr": VIEWS, "dino": VIEWS}


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


def window_in(shape, low, high):
    begin, length, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([1, 0, 4]), min_object_covered=0.0, area_range=(low, high), aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10, use_image_if_no_bounding_boxes=True)
    return begin, length


def by_chance(probability, change, image):
    return tf.cond(tf.random.uniform([]) < probability, lambda: change(image), lambda: image)


def crop(picture, size, low, high=1.0):
    cut = tf.slice(picture, *window_in(tf.shape(picture), low, high))
    return tf.image.random_flip_left_right(tf.image.resize(cut, (size, size))) / 255


def jittered(image, brightness, contrast, saturation, hue):
    image = image * tf.random.uniform([], 1 - brightness, 1 + brightness)
    image = tf.clip_by_value(tf.image.random_contrast(image, 1 - contrast, 1 + contrast), 0, 1)
    image = tf.image.random_saturation(image, 1 - saturation, 1 + saturation)
    return tf.clip_by_value(tf.image.random_hue(image, hue), 0, 1)


def blurred(image, kernel):
    sigma = tf.random.uniform([], 0.1, 2.0)
    at = tf.range(-(kernel // 2), kernel // 2 + 1, dtype=tf.float32)
    weights = tf.exp(-at * at / (2 * sigma * sigma))
    weights = tf.tile(tf.reshape(weights / tf.reduce_sum(weights), [kernel, 1, 1, 1]), [1, 1, 3, 1])
    image = tf.nn.depthwise_conv2d(image[None], weights, [1, 1, 1, 1], "SAME")
    return tf.nn.depthwise_conv2d(image, tf.transpose(weights, [1, 0, 2, 3]), [1, 1, 1, 1], "SAME")[0]


def colours(image, amounts, kernel, blur):
    image = by_chance(0.8, lambda one: jittered(one, *amounts), image)
    image = by_chance(0.2, lambda one: tf.tile(tf.image.rgb_to_grayscale(one), [1, 1, 3]), image)
    return by_chance(blur, lambda one: blurred(one, kernel), image)


def views_of(data, size, recipe):
    if recipe in ("simclr", "dino"):
        picture = tf.io.decode_jpeg(data, channels=3)
        amounts = (0.4, 0.4, 0.2, 0.1) if recipe == "dino" else (0.8, 0.8, 0.8, 0.2)
        if recipe == "simclr":
            views = [colours(crop(picture, size, 0.08), amounts, 23, 0.5) for _ in range(2)]
        else:
            second = colours(crop(picture, size, 0.4), amounts, 9, 0.1)
            views = [colours(crop(picture, size, 0.4), amounts, 9, 1.0),
                     by_chance(0.2, lambda one: tf.where(one < 0.5, one, 1 - one), second),
                     *[colours(crop(picture, 96, 0.05, 0.4), amounts, 9, 0.5) for _ in range(8)]]
        return tuple(tf.cast(view * 255 + 0.5, tf.uint8) for view in views)
    begin, length = window_in(tf.io.extract_jpeg_shape(data), 0.08, 1.0)
    image = tf.io.decode_and_crop_jpeg(data, tf.concat([begin[:2], length[:2]], 0), channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, (size, size)))
    if recipe == "imagenet":
        return ((image - [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375],)
    return (tf.cast(image + 0.5, tf.uint8),)


def epochs(items, folder, threads, batch, size, recipe=""):
    def sample(record):
        parsed = tf.io.parse_single_example(record, {
            "image": tf.io.FixedLenFeature([], tf.string), "number": tf.io.FixedLenFeature([], tf.int64)})
        return views_of(parsed["image"], size, recipe), parsed["number"]

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
