"""PyTorch's DataLoader over files, decoded by torchvision."""

import torch

from contend import torch_parts


class Files(torch.utils.data.Dataset):
    def __init__(self, items, size):
        self.items = items
        self.augment = torch_parts.augment(size)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        number, path = self.items[index]
        return self.augment(torch_parts.decoded(torch_parts.read(path))), number


def describe():
    import importlib.metadata as metadata

    return (
        f"torchvision {metadata.version('torchvision')}, torch {torch.__version__}: files, decode_jpeg, "
        "DataLoader with persistent workers, antialiased resize"
    )


def pack(items, folder, threads):
    pass


def epochs(items, folder, threads, batch, size):
    loader = torch.utils.data.DataLoader(
        Files(items, size), batch_size=batch, shuffle=True, num_workers=threads,
        persistent_workers=True, worker_init_fn=torch_parts.one_thread)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
