"""How the site's search ranks pages, and words that people use for a page's subject but that its text lacks."""
import re

from cpp_reference import INTERNAL

# Rules of the first pattern that matches a page's path: how much its places in the search count. 0 leaves it out.
RANKS = (
    (r"source/|bench/(MEASURED|notebook/|peers/)|tests/|CHANGELOG", 0),
    (rf"reference/cpp/({'|'.join(name.removesuffix('.h') for name in INTERNAL)})\.md", 0),
    (r"samples/guides/README", 1.5),
    (r"reader/(ORDER|DRAWS)", 0.7),
    (r"samples/guides/|README|reader/([A-Z]+|python/README)\.md|(writer|bench)/README", 3),
    (r"reference/sluice(-bench)?/|reference/(options|exit-codes)|tools/ENVIRONMENT|format/remote/README|bench/", 1.5),
    (r"", 0.7),
)

WORDS = {
    "bench/README.md": ("benchmark", "profile"),
    "format/FORMAT.md": ("file format", "specification"),
    "README.md": ("reproducible", "tensorflow", "windows", "macos", "license", "licence", "pip install", "setup",
                  "getting started"),
    "reader/GPU.md": ("pin memory", "nvjpeg", "decode on gpu", "cuda", "torch tensor"),
    "reader/MEMORY.md": ("memory", "cache", "prefetch", "ring", "storage"),
    "reader/ORDER.md": ("reproducible", "determinism"),
    "reader/README.md": ("shuffle", "seed", "prefetch", "memory"),
    "reader/SAMPLES.md": ("shuffle", "seed", "ranks", "last batch", "subset"),
    "reader/TRANSFORMS.md": ("normalize", "cutout", "random crop", "mixup", "cutmix", "copy-paste", "augmentation", "rotation",
                             "mean and std", "resize", "fp16", "half precision", "one hot"),
    "reader/python/README.md": ("jupyter", "notebook", "colab", "pip install", "wheel", "num_workers", "pandas",
                                "numpy"),
    "samples/guides/augmentation.md": ("mixup", "random crop", "progressive resizing"),
    "samples/guides/clusters.md": ("slurm", "kubernetes", "mpi"),
    "samples/guides/cpp-project.md": ("cmake", "find_package", "link", "libtorch"),
    "samples/guides/detection.md": ("coco", "yolo", "voc", "bounding boxes"),
    "samples/guides/distributed.md": ("distributed", "multi gpu", "several gpus", "slurm", "mpi", "world_size"),
    "samples/guides/errors.md": ("exception", "ctrl-c", "interrupt", "OSError", "MemoryError", "corrupt image",
                                 "broken image"),
    "samples/guides/first-training.md": ("batch size", "getting started", "tutorial"),
    "samples/guides/from-imagefolder.md": ("num_workers", "drop_last", "shuffle", "ToTensor", "DataLoader"),
    "samples/guides/from-dali.md": ("dali", "nvidia dali"),
    "samples/guides/from-huggingface.md": ("hugging face datasets", "parquet", "arrow"),
    "samples/guides/from-tfdata.md": ("tensorflow", "tfrecord", "tf.data"),
    "samples/guides/from-webdataset.md": ("tar", "webdataset"),
    "samples/guides/imagenet.md": ("ilsvrc", "timm"),
    "samples/guides/inference.md": ("serve", "deploy", "production"),
    "samples/guides/labels.md": ("filename", "path of a sample", "class names", "class_to_idx", "csv"),
    "samples/guides/mixing.md": ("class imbalance", "sampler", "weighted", "epoch length"),
    "samples/guides/object-stores.md": ("aws", "credentials", "gcs", "bucket", "minio"),
    "samples/guides/own-functions.md": ("albumentations", "opencv", "custom"),
    "samples/guides/resuming.md": ("mid epoch", "preemption"),
    "samples/guides/segmentation.md": ("masks",),
    "samples/guides/settings.md": ("settings", "tuning", "recommended options", "several gpus", "little memory"),
    "samples/guides/trouble.md": ("docker", "container", "kubernetes", "out of memory", "OOM", "MemoryError", "killed",
                                  "gpu utilization", "gpu waits", "slow", "keep original pictures",
                                  "bus error", "corrupt image", "OSError"),
    "samples/guides/validation.md": ("drop_last", "test set", "accuracy"),
    "samples/guides/without-conversion.md": ("must I convert", "without converting", "play a folder"),
    "samples/guides/worked-case.md": ("case study", "gpu waits", "profile", "bottleneck"),
}


def mark(folder):
    """Writes ranks and words into the heads of the pages in `folder`."""
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8")
        if text.startswith("---\n"):
            continue
        rank = next(rank for pattern, rank in RANKS if re.match(pattern, name))
        head = f"search: {{boost: {rank}}}" if rank else "search: {exclude: true}"
        words = WORDS.get(name, ())
        path.write_text(f"---\n{head}\ntags: {list(words)}\n---\n{text}", encoding="utf-8")
