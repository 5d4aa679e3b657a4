"""Serves a trained model: python3 serve.py PIPELINE [MODEL] [--port 8000] [--host 127.0.0.1]

PIPELINE is a file to which the training wrote the text of `loader.pipeline()`, called on its validation Loader. MODEL
is a file that `torch.jit.save` wrote. The server answers an image file of any kind, posted to /, with JSON:

    curl --data-binary @photo.jpg http://127.0.0.1:8000/        {"class": 3, "name": "owl", "scores": [...]}

The name is that of the training's class, which the pipeline carries; it is missing if the dataset named no classes.
POST /row answers with the row that the model would get, as an .npy file, to compare it with the training's. The server
neither limits requests nor encrypts: if the world can reach it, put a web server in front of it.
"""

import argparse
import http.server
import io
import json
import pathlib

import numpy
import sluice

MAX_BYTES = 64 << 20  # of an image file


def make_server(preprocess, model=None, host="127.0.0.1", port=8000):
    """A server that makes each request's row in the request's own thread."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 30  # seconds for a client to send its picture

        def do_POST(self):
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal():
                return self.answer(411, {"error": "send the image's size as Content-Length"})
            if int(length) > MAX_BYTES:
                return self.answer(413, {"error": f"an image file may have at most {MAX_BYTES} bytes"})
            try:
                row = preprocess(self.rfile.read(int(length)))
            except sluice.Error as error:
                return self.answer(400, {"error": str(error)})
            if self.path == "/row":
                file = io.BytesIO()
                numpy.save(file, row)
                return self.send(200, "application/octet-stream", file.getvalue())
            if model is None:
                return self.answer(404, {"error": "there is no model; POST /row answers with the row"})
            self.answer(200, model(row))

        def answer(self, status, value):
            self.send(status, "application/json", json.dumps(value).encode())

        def send(self, status, kind, content):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer((host, port), Handler)


def answer_of(scores, classes):
    number = scores.index(max(scores))
    name = {"name": classes[number]} if number < len(classes) else {}
    return {"class": number, **name, "scores": scores}


def load_model(path, classes=()):
    import torch

    network = torch.jit.load(path).eval()

    def model(row):
        with torch.no_grad():
            scores = network(torch.from_numpy(row)[None])[0]
        return answer_of(scores.tolist(), classes)

    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline", type=pathlib.Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    preprocess = sluice.Preprocess(given.pipeline.read_text())
    model = load_model(given.model, preprocess.classes) if given.model else None
    with make_server(preprocess, model, given.host, given.port) as server:
        print(f"http://{given.host}:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
