"""Settings of all tests, and the command line as a fixture."""

import os
import signal

import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "agg"  # pictures are drawn where there is no screen, too

# A machine that is busy with something else is no failure.
settings.register_profile("widemargin", deadline=None)
settings.load_profile("widemargin")

# A shell starts what runs in its background deaf to Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["double", pytest.param("cuda", marks=pytest.mark.gpu)])
def gpu(request, monkeypatch):
    """Return what sends rows to the device that `device="cuda"` finds."""
    from gpu_double import GivenArray, NumpyDevice

    from widemargin.backends.gpu import device, gpu_is_usable

    device.open_device.cache_clear()
    if request.param == "double":
        monkeypatch.setattr(device, "Device", NumpyDevice)
        yield GivenArray
    elif gpu_is_usable():
        yield device.open_device().upload
    else:
        pytest.skip("there is no NVIDIA GPU, or CuPy is not installed")
    device.open_device.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with iris.csv, iris.svm and wine.csv."""
    from sklearn.datasets import load_iris, load_wine

    from widemargin import dump_svmlight

    monkeypatch.chdir(tmp_path)
    load_iris(as_frame=True).frame.to_csv("iris.csv", index=False)
    load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)
    dump_svmlight(*load_iris(return_X_y=True), "iris.svm")
    return tmp_path


@pytest.fixture
def widemargin(folder, capsys):
    """Run a command line; return its exit code, standard output and standard error."""

    from widemargin.cli import main

    def run(line, code=0):
        found = main(line.split())
        output = capsys.readouterr()
        assert found == code, output.err
        return output.out, output.err

    return run
