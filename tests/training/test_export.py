"""An exported network computes without NumPy what the arrays compute."""

import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from deadheat.training import export


def layers(*sizes: int) -> list[export.Layer]:
    chance = np.random.default_rng(7)
    return [(chance.normal(size=pair), chance.normal(size=pair[1])) for pair in pairwise(sizes)]


def computed(network: list[export.Layer], numbers: np.ndarray) -> np.ndarray:
    for weights, bias in network[:-1]:
        numbers = np.maximum(numbers @ weights + bias, 0)
    return numbers @ network[-1][0] + network[-1][1]


@pytest.mark.parametrize("sizes", [(3, 1), (5, 4), (38, 32, 1), (4, 8, 8, 3)])
def test_a_file_computes_what_the_arrays_do(sizes: tuple[int, ...], tmp_path: Path) -> None:
    network, file = layers(*sizes), tmp_path / "network.py"
    export.write(file, network)
    forward = runpy.run_path(str(file))["forward"]
    for numbers in np.random.default_rng(8).normal(size=(50, sizes[0])):
        assert forward(numbers.tolist()) == pytest.approx(computed(network, numbers).tolist(), abs=1e-4)


def test_a_file_needs_the_standard_library_only(tmp_path: Path) -> None:
    export.write(tmp_path / "network.py", layers(2, 3, 1))
    program = "import network, sys; print(len(network.forward([1, 2])), 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "False"]


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    (first, bias), second = layers(2, 3, 1)
    wrongly: list[export.Layer] = [(first, bias), (second[0][1:], second[1])]
    wrong = {"one layer": [], r"\(2, 1\) do not fit: \(3, 1\)": wrongly, "not finite": [(first * np.inf, bias), second]}
    for said, network in wrong.items():
        with pytest.raises(ValueError, match=said):
            export.write(tmp_path / "network.py", network)
    assert not list(tmp_path.iterdir())
