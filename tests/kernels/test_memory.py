import numpy as np
import pytest

from unaligned.kernels import memory


def test_available_memory(monkeypatch):
    free = memory._machine_bytes()
    assert free > 0
    # What is free changes all the time; what is told of it is the least that is known.
    monkeypatch.setattr(memory, "_machine_bytes", lambda: free)
    assert 0 < memory.available_bytes() <= free


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, np.inf),
        ({"memory.max": "max\n", "memory.current": "5\n"}, np.inf),
        ({"memory.max": "100\n", "memory.current": "30\n"}, 70),
        ({"memory.limit_in_bytes": "100\n", "memory.usage_in_bytes": "90\n"}, 10),
        (
            {
                "memory.max": "100\n",
                "memory.current": "90\n",
                "memory.stat": "anon 1\ninactive_file 40\n",
            },
            50,
        ),
    ],
)
def test_control_groups(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory._group_bytes(tmp_path) == expected


def test_the_group_around_counts(tmp_path, monkeypatch):
    """A limit set on any group around the process holds for it."""
    limits = {"/sys/fs/cgroup/job/memory.max": ["700"], "/proc/meminfo": []}
    limits["/sys/fs/cgroup/job/memory.current"] = ["100"]
    limits["/proc/self/cgroup"] = ["0::/job/step"]
    monkeypatch.setattr(memory, "_lines", lambda path: limits.get(str(path), []))
    monkeypatch.setattr(memory, "_machine_bytes", lambda: 1e9)
    assert memory.available_bytes() == 600
