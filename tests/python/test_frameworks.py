"""Trainings in two processes under accelerate, transformers' Trainer, Lightning, torchdata and torch.multiprocessing:
each sample is played once. Each process prints the numbers of the samples that it sees."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest
import sluice

torch = pytest.importorskip("torch")

HEAD = """
import os, sys
import torch
import sluice, sluice.torch

torch.set_num_threads(1)


def make(**options):
    return sluice.torch.IterableDataset(sys.argv[1], 5, threads=1, extras=["samples"], **{
        "output": sluice.OutputOptions(fields=["image", "label"], layout="nchw"), **options})


def say(numbers):
    sys.stdout.write(" ".join(map(str, numbers)) + "\\n")
    sys.stdout.flush()


def loader(dataset):
    return torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
"""

EVERY_SAMPLE = list(range(50))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(**more):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK")
    return {**{name: value for name, value in os.environ.items() if name not in names}, "OMP_NUM_THREADS": "1", **more}


def lines(text):
    """The numbers of each line that has only numbers."""
    return [[int(number) for number in line.split()] for line in text.splitlines() if line.replace(" ", "").isdigit()]


def ranks(tmp_path, raw, code):
    """Runs the code in two processes with the environment that torchrun sets, and returns their outputs."""
    script = tmp_path / "rank.py"
    script.write_text(HEAD + textwrap.dedent(code))
    port = str(free_port())
    both = [
        subprocess.Popen(
            [sys.executable, script, raw], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
            env=environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                            MASTER_PORT=port))
        for rank in range(2)]
    texts = [one.communicate(timeout=600)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], texts
    return texts


@pytest.mark.parametrize("split", ["", "dataloader_config=accelerate.DataLoaderConfiguration(split_batches=True), "])
def test_accelerate_may_not_deal_out_batches_that_are_already_a_share(raw, tmp_path, split):
    pytest.importorskip("accelerate")
    for text in ranks(tmp_path, raw, f"""
        import accelerate
        accelerator = accelerate.Accelerator({split}cpu=True)
        try:
            next(iter(accelerator.prepare(torch.utils.data.DataLoader(make(), batch_size={"None" if not split else 2}))))
        except RuntimeError as error:
            assert "DataLoaderDispatcher deals batches out" in str(error), error
            print("refused")
    """):
        assert text.endswith("refused\n")


def test_a_loader_inside_a_users_dataset_refuses_to_play_if_a_framework_deals_its_batches_out(raw, tmp_path):
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    texts = ranks(tmp_path, raw, """
        import accelerate
        import transformers.trainer_pt_utils
        from torch.utils.data import DataLoader


        class Dataset(torch.utils.data.IterableDataset):
            def __init__(self, samples, **options):
                self.samples, self.options = samples, options

            def __iter__(self):
                for batch in sluice.Loader(sys.argv[1], 5, threads=1, **self.options):
                    if self.samples:
                        yield from batch.samples.tolist()
                    else:
                        yield torch.from_numpy(batch.samples)


        class ByWorker(torch.utils.data.IterableDataset):
            def __iter__(self):
                worker = torch.utils.data.get_worker_info()
                return iter(Dataset(True, ranks=sluice.RankOptions(worker.id, worker.num_workers)))


        def refused(dataset, by):
            try:
                next(iter(dataset))
            except RuntimeError as error:
                assert f"{by} deals batches out" in str(error), error
                print("refused")


        def prepared(dataset, **options):
            config = accelerate.DataLoaderConfiguration(**accelerator_options)
            accelerator = accelerate.Accelerator(cpu=True, dataloader_config=config)
            return accelerator.prepare(DataLoader(dataset, **options))


        accelerator_options = {}
        rank = accelerate.PartialState(cpu=True).process_index
        of_batches, of_samples = prepared(Dataset(False), batch_size=None), prepared(Dataset(True), batch_size=6)
        by_workers = prepared(Dataset(True), batch_size=6, num_workers=2)
        accelerator_options = {"split_batches": True}
        split = prepared(Dataset(True), batch_size=6)
        accelerator_options = {"dispatch_batches": False}
        parts, parts_by_workers = prepared(Dataset(True), batch_size=6), prepared(Dataset(True), batch_size=6, num_workers=1)
        of_trainer = transformers.trainer_pt_utils.IterableDatasetShard(Dataset(True), 3, num_processes=2, process_index=rank)
        if rank == 0:  # with a dispatcher, only rank 0 iterates over the dataset
            for one in of_batches, of_samples, by_workers, split:
                refused(one, "DataLoaderDispatcher")
        for one in parts, parts_by_workers, of_trainer, DataLoader(of_trainer, batch_size=3):
            refused(one, "IterableDatasetShard")

        shared = prepared(ByWorker(), batch_size=5, num_workers=2)  # shares of workers, not of ranks: allowed
        say(number for batch in shared for number in batch.tolist())
        torch.distributed.destroy_process_group()
    """)
    for rank, text in enumerate(texts):
        assert text.count("refused\n") == (4 if rank else 8), text
    assert set(sum(map(lambda text: lines(text)[0], texts), [])) == set(EVERY_SAMPLE)


def test_accelerate_plays_each_sample_once_if_it_prepares_only_the_model(raw, tmp_path):
    pytest.importorskip("accelerate")
    texts = ranks(tmp_path, raw, """
        import accelerate
        accelerator = accelerate.Accelerator(cpu=True)
        model = accelerator.prepare(torch.nn.Linear(1, 1))
        for dataset in make(), loader(make()):
            seen = []
            for batch in dataset:
                seen += accelerator.gather(batch["samples"].to(accelerator.device)).tolist()
            say(seen)
        torch.distributed.destroy_process_group()
    """)
    for text in texts:
        assert [sorted(seen) for seen in lines(text)] == [EVERY_SAMPLE] * 2


def test_accelerate_may_deal_out_batches_that_one_process_reads_for_all(raw, tmp_path):
    pytest.importorskip("accelerate")
    texts = ranks(tmp_path, raw, """
        import accelerate
        accelerator = accelerate.Accelerator(cpu=True)
        seen = []
        for batch in accelerator.prepare(loader(make(ranks=sluice.RankOptions(world_size=1)))):
            seen += batch["samples"].tolist()
        say(seen)
        torch.distributed.destroy_process_group()
    """)
    assert sorted(lines(texts[0])[0] + lines(texts[1])[0]) == EVERY_SAMPLE


def test_the_trainer_of_transformers_trains_and_evaluates_on_each_sample_once(raw, tmp_path):
    pytest.importorskip("transformers")
    texts = ranks(tmp_path, raw, """
        import transformers

        seen = []


        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)

            def forward(self, image, label, samples):
                seen.extend(samples.tolist())
                logits = self.layer(image.float().mean((2, 3)) / 255)
                return {"loss": torch.nn.functional.cross_entropy(logits, label), "logits": logits}


        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return make()

            def get_eval_dataloader(self, eval_dataset=None):
                return make(order=sluice.OrderOptions(shuffle="sequential"))


        trainer = Trainer(Model(), transformers.TrainingArguments(
            "out", num_train_epochs=2, use_cpu=True, report_to=[], save_strategy="no", label_names=["label"],
            disable_tqdm=True, remove_unused_columns=False), train_dataset=make(), eval_dataset=make())
        trainer.train()
        say(seen[:25])
        say(seen[25:])
        seen.clear()
        trainer.evaluate()
        say(seen)
    """)
    for one, other in zip(*map(lines, texts)):
        assert sorted(one + other) == EVERY_SAMPLE
    assert len(lines(texts[0])) == 3


def test_the_trainer_of_transformers_resumes_in_each_epoch(raw, tmp_path):
    pytest.importorskip("transformers")
    script = tmp_path / "train.py"
    script.write_text(HEAD + textwrap.dedent("""
        import shutil
        import transformers

        seen = []


        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)

            def forward(self, image, label, samples):
                seen.append(samples.tolist())
                logits = self.layer(image.float().mean((2, 3)) / 255)
                return {"loss": torch.nn.functional.cross_entropy(logits, label), "logits": logits}


        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return make()


        class Epochs(transformers.TrainerCallback):
            def on_epoch_begin(self, args, state, control, train_dataloader, **_):
                train_dataloader.set_epoch(int(state.epoch))


        class Stop(transformers.TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                control.should_training_stop = control.should_save = state.global_step == stop_at


        def train(**options):
            seen.clear()
            arguments = transformers.TrainingArguments("out", num_train_epochs=2, use_cpu=True, report_to=[], save_steps=1000,
                                                       disable_tqdm=True, remove_unused_columns=False)
            Trainer(Model(), arguments, train_dataset=make(),
                    callbacks=[Epochs(), Stop()]).train(**options)
            return list(seen)


        stop_at = 0
        whole = train()
        assert len(whole) == 20, len(whole)
        for stop_at in 4, 10, 13:  # within the first epoch, at its end, within the second
            shutil.rmtree("out")
            assert train() == whole[:stop_at], stop_at
            assert train(resume_from_checkpoint=True) == whole[stop_at:], stop_at

        import accelerate
        dataset = make()
        try:
            next(iter(accelerate.skip_first_batches(dataset, 3)))
        except RuntimeError as error:
            assert "which epoch to play: call its set_epoch()" in str(error), error
            dataset.set_epoch(1)
            skipped = [batch["samples"].tolist() for batch in accelerate.skip_first_batches(dataset, 3)]
            assert skipped == whole[13:]
            print("resumed")
    """))
    done = subprocess.run([sys.executable, script, raw], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=tmp_path, env=environment(), timeout=600)
    assert done.returncode == 0 and "resumed\n" in done.stdout, done.stdout


def test_a_checkpoint_of_torchdata_resumes_in_each_process(raw, tmp_path):
    pytest.importorskip("torchdata.stateful_dataloader")
    texts = ranks(tmp_path, raw, """
        from torchdata.stateful_dataloader import StatefulDataLoader
        torch.distributed.init_process_group("gloo")
        first = StatefulDataLoader(make(), batch_size=None, num_workers=0)
        iterator, seen = iter(first), []
        for _ in range(2):
            seen += next(iterator)["samples"].tolist()
        state = first.state_dict()
        again = StatefulDataLoader(make(), batch_size=None, num_workers=0)
        again.load_state_dict(state)
        for batch in again:
            seen += batch["samples"].tolist()
        say(seen)
        torch.distributed.destroy_process_group()
    """)
    assert sorted(lines(texts[0])[0] + lines(texts[1])[0]) == EVERY_SAMPLE


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn"])
def test_lightning_plays_each_sample_once_in_each_epoch(raw, tmp_path, strategy):
    pytest.importorskip("lightning")
    script = tmp_path / "train.py"
    script.write_text(HEAD + f"STRATEGY = {strategy!r}\n" + textwrap.dedent("""
        import lightning


        class Model(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)
                self.seen = []

            def step(self, batch):
                self.seen += batch["samples"].tolist()
                return torch.nn.functional.cross_entropy(self.layer(batch["image"].float().mean((2, 3))), batch["label"])

            def training_step(self, batch, _):
                return self.step(batch)

            def validation_step(self, batch, _):
                self.step(batch)

            def on_train_epoch_start(self):
                self.seen = []

            def on_validation_epoch_start(self):
                say(self.seen)
                self.seen = []

            def on_validation_epoch_end(self):
                say(self.seen)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 1e-6)


        if __name__ == "__main__":
            trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy=STRATEGY, logger=False,
                                        enable_checkpointing=False, enable_progress_bar=False, num_sanity_val_steps=0,
                                        enable_model_summary=False)
            train = make() if STRATEGY == "ddp_spawn" else loader(make())
            trainer.fit(Model(), train, make(order=sluice.OrderOptions(shuffle="sequential")))
    """))
    trained = subprocess.run([sys.executable, script, raw], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=tmp_path, env=environment(MASTER_PORT=str(free_port())), timeout=600)
    assert trained.returncode == 0, trained.stderr
    seen = lines(trained.stdout)
    assert len(seen) == 8 and sorted(sum(seen, [])) == sorted(EVERY_SAMPLE * 4)


SPAWNED = """
import sys
import torch
import torch.multiprocessing
import sluice


def work(rank, port, data):
    before = sluice.Loader(data, 5)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    try:
        next(iter(before))
        raise AssertionError("it plays all samples")
    except sluice.Error as error:
        assert "before torch.distributed was initialised" in str(error), error
    after = sluice.Loader(data, 5)
    assert after.rank == (rank, 2), after.rank
    numbers = [str(number) for batch in after for number in batch.samples]
    sys.stdout.write(" ".join(numbers) + "\\n")
    sys.stdout.flush()
    alone = sluice.Loader(data, 5, ranks=sluice.RankOptions(world_size=1))
    assert sum(len(batch) for batch in alone) == 50
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, sys.argv[1:], nprocs=2)
"""


def test_a_loader_takes_the_rank_from_torch_if_the_environment_does_not_name_it(raw, tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    spawned = subprocess.run([sys.executable, script, str(free_port()), raw], stdout=subprocess.PIPE, text=True,
                             env=environment(), timeout=600)
    assert spawned.returncode == 0
    one, other = lines(spawned.stdout)
    assert sorted(one + other) == EVERY_SAMPLE and len(one) == 25
