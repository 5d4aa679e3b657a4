"""sluice.Preprocess makes rows like the loader's from images that a server receives; samples/python/serve.py uses it."""

import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy
import pytest
import sluice

SAMPLE = pathlib.Path(__file__).parents[2] / "samples" / "python" / "serve.py"
STEPS = "short:72,center:64,normalize"


def loader_of(dataset, layout="nchw", transform=STEPS):
    return sluice.Loader(dataset, 1, transform=transform, output=sluice.OutputOptions(layout=layout))


def png_of(pixels):
    """A PNG file of an array."""
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_the_rows_of_files_are_the_loaders(jpeg, layout):
    loader, dataset = loader_of(jpeg, layout), sluice.Dataset(jpeg)
    preprocess = sluice.Preprocess(loader.pipeline())
    assert preprocess.pipeline == loader.pipeline()
    assert preprocess.shape == ((3, 64, 64) if layout == "nchw" else (64, 64, 3)) and preprocess.dtype == "float32"
    files = [dataset[number].payload() for number in range(0, 200, 20)]
    for number, file in zip(range(0, 200, 20), files):
        wanted = loader.row(number, 0)["image"].numpy()[0]
        row = preprocess(file)
        assert row.dtype == numpy.float32 and numpy.array_equal(row, wanted)
        assert numpy.array_equal(preprocess(memoryview(file)), wanted)
    rows, faults = preprocess.rows(files)
    assert faults == [] and numpy.array_equal(rows[3], preprocess(files[3]))


def test_a_pipeline_carries_the_names_of_the_classes(jpeg):
    preprocess = sluice.Preprocess(loader_of(jpeg).pipeline())
    assert preprocess.classes == sluice.Dataset(jpeg).classes != []
    assert sluice.Preprocess(STEPS).classes == []


def test_the_rows_of_arrays_and_of_other_kinds_are_the_loaders(raw):
    loader, dataset = loader_of(raw, transform="center:24"), sluice.Dataset(raw)
    preprocess = sluice.Preprocess(loader.pipeline(), threads=2)
    pixels = dataset[7].array("image")
    wanted = loader.row(7, 0)["image"].numpy()[0]
    assert numpy.array_equal(preprocess(pixels), wanted)
    assert numpy.array_equal(preprocess.rows([pixels, pixels])[0][1], wanted)
    grey = numpy.ascontiguousarray(pixels[:, :, 0])
    assert numpy.array_equal(preprocess(grey), preprocess(numpy.stack([grey] * 3, axis=2)))
    assert numpy.array_equal(preprocess(png_of(pixels)), wanted)


def test_each_faulty_or_late_row_is_reported_and_the_others_are_given(jpeg):
    file = sluice.Dataset(jpeg)[0].payload()
    preprocess = sluice.Preprocess(STEPS)
    rows, faults = preprocess.rows([file, b"nonsense", file])
    assert [fault.row for fault in faults] == [1] and not faults[0].late
    assert faults[0].error.code == "unsupported" and not rows[1].any() and rows[2].any()
    rows, faults = preprocess.rows([file] * 3, within=0)
    assert [fault.late for fault in faults] == [True] * 3 and "deadline" in repr(faults[0])
    assert preprocess.rows([])[0].shape == (0, 64, 64, 3)


def test_images_and_pipelines_that_cannot_be_served_are_errors(jpeg):
    file = sluice.Dataset(jpeg)[0].payload()
    preprocess = sluice.Preprocess(STEPS)
    with pytest.raises(sluice.Error) as raised:
        preprocess(b"")
    assert raised.value.code == "unsupported"
    with pytest.raises(sluice.Error, match="cut short"):
        preprocess(file[: len(file) // 2])
    with pytest.raises(sluice.Error, match="max_pixels"):
        sluice.Preprocess(STEPS, max_pixels=10)(file)
    with pytest.raises(sluice.Error, match="not both"):
        preprocess.rows([file, numpy.zeros((90, 80, 3), numpy.uint8)])
    with pytest.raises(sluice.Error, match="different row each time"):
        sluice.Preprocess(sluice.Loader(jpeg, 1, transform="rrc:64,flip").pipeline())
    with pytest.raises(sluice.Error, match=r"Loader\.pipeline\(\) writes one"):
        sluice.Preprocess("{}")
    with pytest.raises(TypeError):
        preprocess("photo.jpg")
    with pytest.raises(sluice.Error, match="array of uint8"):
        preprocess(numpy.zeros((90, 80, 3), numpy.float32))
    pixels = numpy.random.default_rng(1).integers(0, 256, (90, 80, 3), numpy.uint8)
    assert numpy.array_equal(preprocess(pixels[:, :, ::-1]), preprocess(pixels[:, :, ::-1].copy()))


def test_several_threads_use_one_preprocess(jpeg):
    dataset = sluice.Dataset(jpeg)
    files = [dataset[number].payload() for number in range(40)]
    preprocess = sluice.Preprocess(STEPS, threads=2)
    wanted = preprocess.rows(files)[0]
    equal = []

    def serve(first):
        equal.append(all(numpy.array_equal(preprocess(files[n]), wanted[n]) for n in range(first, 40, 4)))

    threads = [threading.Thread(target=serve, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 4


@pytest.fixture
def served(jpeg, tmp_path):
    """The address of the sample's server, which is started as a user starts it."""
    file = tmp_path / "pipeline.json"
    file.write_text(loader_of(jpeg).pipeline())
    with subprocess.Popen([sys.executable, SAMPLE, file, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def test_the_sample_answers_a_posted_picture_with_the_trainings_row(jpeg, served):
    file = sluice.Dataset(jpeg)[11].payload()
    with urllib.request.urlopen(served + "row", file) as answer:
        row = numpy.load(io.BytesIO(answer.read()))
    assert numpy.array_equal(row, loader_of(jpeg).row(11, 0)["image"].numpy()[0])
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(served + "row", b"not a picture")
    assert refused.value.code == 400 and "image" in json.load(refused.value)["error"]


def sample():
    specification = importlib.util.spec_from_file_location("serve", SAMPLE)
    serve = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(serve)
    return serve


def test_the_sample_names_the_class_of_the_highest_score():
    answer_of = sample().answer_of
    assert answer_of([0.5, -1.0, 2.0], ["cat", "dog", "owl"]) == {"class": 2, "name": "owl", "scores": [0.5, -1.0, 2.0]}
    assert answer_of([0.5, -1.0, 2.0], ["cat", "dog"]) == {"class": 2, "scores": [0.5, -1.0, 2.0]}  # no third name
    assert answer_of([1.0], []) == {"class": 0, "scores": [1.0]}


def test_the_sample_answers_with_a_models_scores(jpeg):
    torch = pytest.importorskip("torch")
    serve = sample()
    classes = sluice.Dataset(jpeg).classes
    network = torch.jit.script(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, len(classes))))
    file = io.BytesIO()
    torch.jit.save(network, file)
    file.seek(0)
    preprocess = sluice.Preprocess(loader_of(jpeg).pipeline())
    picture = sluice.Dataset(jpeg)[4].payload()
    with serve.make_server(preprocess, serve.load_model(file, preprocess.classes), port=0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", picture) as answer:
                said = json.load(answer)
        finally:
            server.shutdown()
            thread.join()
    with torch.no_grad():
        wanted = network(torch.from_numpy(preprocess(picture))[None])[0].tolist()
    assert said["scores"] == wanted
    assert said["name"] == classes[wanted.index(max(wanted))]


def test_the_first_image_of_12_bits_in_16_gives_one_warning():
    """A server's pictures are warned of like those that are converted or played."""
    import warnings

    grey = lambda value: b"P5 2 2 65535\n" + bytes([value, 255]) * 4
    serve = sluice.Preprocess("center:2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        serve(grey(255))
    with pytest.warns(sluice.ConvertWarning, match="less than a quarter of the range") as caught:
        serve(grey(15))
        serve.rows([grey(15), grey(15)])
    assert len(caught) == 1
    with pytest.warns(sluice.ConvertWarning, match="by 16"):
        sluice.Preprocess("center:2", threads=2).rows([grey(255), grey(15)])
