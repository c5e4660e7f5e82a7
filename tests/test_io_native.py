"""Our own model files: nothing is lost, damage is told, nothing in a file runs."""

import copy
import io
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pandas
import pytest
from fuzz import forge, header_of, with_header
from model_cases import CASES, classes, decisions, fitted, two
from safetensors.numpy import load as safetensors_load
from sklearn.base import clone

import widemargin as wm
from widemargin.io.container import read_container, write_container
from widemargin.io.native_models import ESTIMATORS

DATA = Path(__file__).parent / "data" / "models"


def saved(estimator):
    file = io.BytesIO()
    wm.save(estimator, file)
    return file.getvalue()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("memory_map", [False, True])
def test_everything_comes_back(tmp_path, name, memory_map):
    estimator, X = fitted(name)
    wm.save(estimator, tmp_path / "model")
    back = wm.load(tmp_path / "model", memory_map=memory_map)
    np.testing.assert_array_equal(decisions(back, X), decisions(estimator, X))
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))
    assert repr(back) == repr(estimator)
    for attribute in ("duality_gap_", "primal_objective_", "status_", "history_", "kernel_"):
        kept, expected = (getattr(e, attribute, None) for e in (back, estimator))
        assert kept == expected or repr(kept) == repr(expected)  # nan is not equal to itself
    given = estimator.get_params().get("kernel") == "precomputed"
    if hasattr(estimator, "decision_bound") and not given:
        np.testing.assert_array_equal(back.decision_bound(X), estimator.decision_bound(X))
    if hasattr(estimator, "classes_"):
        assert back.classes_.dtype == estimator.classes_.dtype
    assert saved(back) == saved(estimator)  # nothing more and nothing less


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("name", [n for n in CASES if hasattr(CASES[n].make(), "partial_fit")])
def test_learners_from_streams_go_on_where_they_were(tmp_path, name, memory_map):
    estimator, X = copy.deepcopy(fitted(name))
    y = CASES[name].data()[1]
    wm.save(estimator, tmp_path / "model")
    back = wm.load(tmp_path / "model", memory_map=memory_map)
    for learner in (estimator, back):
        learner.partial_fit(X, y).partial_fit(X[:7], y[:7])
    again = wm.load(io.BytesIO(saved(estimator)))
    for learner in (estimator, back, again):
        learner.partial_fit(X[1:4], y[1:4])
    np.testing.assert_array_equal(decisions(back, X), decisions(estimator, X))
    np.testing.assert_array_equal(decisions(again, X), decisions(estimator, X))
    if hasattr(estimator, "mistakes_"):
        assert (back.t_, back.mistakes_) == (estimator.t_, estimator.mistakes_)


def test_every_estimator_can_be_kept_and_exported():
    kept = {type(fitted(name)[0]).__name__ for name in CASES}
    assert kept == set(ESTIMATORS)


def test_names_of_features_weights_and_a_stopped_fit_come_back():
    X, y = classes()
    frame = pandas.DataFrame(X, columns=["length", "width", "ä", "日本"])
    estimator = wm.SVC(class_weight={10: 2.0}, max_iter=5, gamma=0.5)
    with pytest.warns(UserWarning, match="max_iter"):
        estimator.fit(frame, y, np.linspace(1, 2, len(y)))
    back = wm.load(io.BytesIO(saved(estimator)))
    assert back.feature_names_in_.tolist() == ["length", "width", "ä", "日本"]
    assert back.class_weight == {10: 2.0}
    assert back.status_ is wm.Status.ITERATION_LIMIT
    back.set_params(max_iter=-1, warm_start=True)
    assert back.fit(frame, y, np.linspace(1, 2, len(y))).status_.converged


def test_probabilities_come_back():
    X, y = classes()
    with pytest.warns(FutureWarning):
        estimator = wm.SVC(probability=True).fit(X, y)
    back = wm.load(io.BytesIO(saved(estimator)))
    np.testing.assert_array_equal(back.predict_proba(X), estimator.predict_proba(X))


def test_a_mapped_model_stays_in_its_file(tmp_path):
    estimator, X = fitted("SVC, two classes")
    wm.save(estimator, tmp_path / "model")
    mapped = wm.load(tmp_path / "model", memory_map=True)
    assert not mapped.support_vectors_.flags.writeable
    assert not mapped.support_vectors_.flags.owndata
    assert pickle.loads(pickle.dumps(mapped)).predict(X).tolist() == estimator.predict(X).tolist()
    with pytest.raises(TypeError, match="memory_map=True needs a path"):
        wm.load(io.BytesIO(saved(estimator)), memory_map=True)


def test_other_programs_read_the_arrays():
    estimator, _ = fitted("SVC, three classes")
    data = saved(estimator)
    arrays = safetensors_load(data)
    np.testing.assert_array_equal(arrays["fitted.support_vectors_"], estimator.support_vectors_)
    header, body = header_of(data)
    assert (len(data) - len(body)) % 64 == 0
    for entry in (value for key, value in header.items() if key != "__metadata__"):
        width = int(entry["dtype"][1:]) // 8 if entry["dtype"] != "BOOL" else 1
        assert entry["data_offsets"][0] % width == 0


def test_a_file_of_version_1_is_read_for_ever():
    expected = json.loads((DATA / "version_1.json").read_text(encoding="utf-8"))
    model = wm.load(DATA / "version_1.widemargin")
    X = pandas.DataFrame(expected["X"], columns=expected["features"])
    np.testing.assert_allclose(model.decision_function(X), expected["decisions"], rtol=1e-12)
    assert model.predict(X).tolist() == expected["labels"]
    assert model.duality_gap_ == expected["gap"]
    assert str(model.kernel_) == expected["kernel"]
    assert model.feature_names_in_.tolist() == expected["features"]


@pytest.mark.parametrize("name", ["linear", "sparse_svr", "detector", "perceptron"])
def test_files_of_version_1_are_read_for_ever(name):
    expected = json.loads((DATA / f"version_1_{name}.json").read_text(encoding="utf-8"))
    model = wm.load(DATA / f"version_1_{name}.widemargin")
    X = np.array(expected["X"])
    assert type(model).__name__ == expected["estimator"]
    np.testing.assert_allclose(decisions(model, X), expected["decisions"], rtol=1e-12, atol=1e-12)
    if name != "sparse_svr":
        assert model.predict(X).tolist() == expected["predictions"]
    assert getattr(model, "duality_gap_", None) == expected["gap"]


def test_a_feature_map_of_version_1_is_read_for_ever():
    model = wm.load(DATA / "version_1_map.widemargin")
    rows = pandas.DataFrame([[3.0, 2.0]], columns=["a", "b"])
    np.testing.assert_allclose(model.transform(rows), [[9.0, 72**0.5, 4.0]], rtol=1e-14)
    assert (model.degree, model.coef0, model.feature_names_in_.tolist()) == (2, 0.0, ["a", "b"])


def test_what_a_file_cannot_hold_is_named():
    X, y = two()

    def inner(A, B):
        return A @ B.T

    with pytest.raises(TypeError, match="a kernel that is a Python function cannot be kept"):
        wm.save(wm.SVC(kernel=wm.kernels.FunctionKernel(inner)).fit(X, y), io.BytesIO())
    with pytest.raises(
        TypeError, match="only machines and feature maps of widemargin can be saved, found"
    ):
        wm.save({}, io.BytesIO())
    with pytest.raises(ValueError, match="not fitted yet"):
        wm.save(wm.SVC(), io.BytesIO())


@pytest.mark.parametrize(
    "made", [wm.PolynomialMap(3, gamma=0.5), wm.PolynomialMap(2, coef0=0.0), wm.SquaresMap()]
)
@pytest.mark.parametrize("names", [False, True])
def test_feature_maps_are_kept(made, names):
    X, _ = two()
    if names:
        X = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    feature_map = clone(made).fit(X)
    back = wm.load(io.BytesIO(saved(feature_map)))
    np.testing.assert_array_equal(back.transform(X), feature_map.transform(X))
    assert back.get_feature_names_out().tolist() == feature_map.get_feature_names_out().tolist()
    assert saved(back) == saved(feature_map)
    header, body = header_of(saved(feature_map))
    model = json.loads(header["__metadata__"]["model"])
    for width in (-1, 0, 2.5, 2**62, None):
        items = [item for item in model["values"]["fitted"]["items"] if item[0] != "n_features_in_"]
        model["values"]["fitted"]["items"] = [*items, ["n_features_in_", width]]
        header["__metadata__"]["model"] = json.dumps(model)
        if width != 2**62 or not isinstance(made, wm.SquaresMap):  # which needs no memory for it
            with pytest.raises(ValueError, match=r"features|entries|factors"):
                wm.load(io.BytesIO(with_header(header, body)))


def test_maps_are_no_machines():
    file = io.BytesIO()
    with pytest.raises(ValueError, match="not fitted yet"):
        wm.save(wm.SquaresMap(), file)
    with pytest.raises(TypeError, match="only machines that predict have them"):
        wm.export_c(wm.PolynomialMap().fit([[1.0, 2.0]]), file)
    assert not file.getvalue()


def test_nothing_is_written_if_something_cannot_be_held(tmp_path):
    X, y = two()
    path = tmp_path / "model"
    wm.save(wm.SVC().fit(X, y), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        wm.save(wm.SVC(kernel=lambda A, B: np.asarray(A) @ np.asarray(B).T).fit(X, y), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


# --- damaged files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SVC, three classes", "SVC, sparse rows", "LinearSVC, l1"])
def test_any_truncation_is_told(name):
    data = saved(fitted(name)[0])
    for size in {*range(0, len(data), 397), len(data) - 1}:
        with pytest.raises(ValueError, match=r"damaged|is no model"):
            wm.load(io.BytesIO(data[:size]))


@pytest.mark.parametrize("name", ["SVC, three classes", "SVC, sparse rows", "LinearSVC, l1"])
def test_any_flipped_bit_is_told(name):
    chance = random.Random(0)
    data = saved(fitted(name)[0])
    header_end = 8 + int.from_bytes(data[:8], "little")
    text_end = len(data[:header_end].rstrip())  # spaces behind it mean nothing
    for _ in range(150):
        place = chance.choice([chance.randrange(text_end), chance.randrange(header_end, len(data))])
        flipped = bytearray(data)
        flipped[place] ^= 1 << chance.randrange(8)
        with pytest.raises(ValueError, match=r"damaged|is no model|version"):
            wm.load(io.BytesIO(flipped))


@pytest.mark.parametrize(
    "name", ["SVC, three classes", "SVC, sparse rows", "SVC, joint", "SVDD", "LinearSVC, l1"]
)
def test_forged_files_load_or_are_refused_but_do_no_harm(name):
    """Whoever forges a file can make its checksum right; then the sizes must protect us."""
    chance = random.Random(1)
    estimator, X = fitted(name)
    header, body = header_of(saved(estimator))
    refused = 0
    for _ in range(100):
        forged = forge(json.loads(json.dumps(header)), chance)
        noise = bytearray(body)
        if chance.random() < 0.5:
            for _ in range(chance.randrange(1, 9)):
                noise[chance.randrange(len(noise))] ^= 1 << chance.randrange(8)
        try:
            model = wm.load(io.BytesIO(with_header(forged, bytes(noise))))
        except ValueError:
            refused += 1
            continue
        try:
            with np.errstate(all="ignore"):
                decisions(model, X)
        except (ValueError, AttributeError, TypeError, KeyError):
            refused += 1
    assert refused > 15


def leave_out(model, attribute):
    """Remove an attribute from the JSON of a model."""
    items = model["values"]["fitted"]["items"]
    items[:] = [item for item in items if item[0] != attribute]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda h, m: h["__metadata__"].update(version="2"), "version 2 of the model format"),
        (lambda h, m: h["__metadata__"].update(format="other"), "no model of widemargin"),
        (lambda h, m: m.update(estimator="os.system"), "names no estimator"),
        (lambda h, m: m["values"]["fitted"]["items"].append(["predict", 1]), "'predict' is"),
        (lambda h, m: m["values"]["parameters"]["items"].append(["D", 1]), "the parameter must be"),
        (lambda h, m: leave_out(m, "intercept_"), "a part of the model is missing"),
        (lambda h, m: leave_out(m, "classes_"), "a part of the model is missing"),
        (
            lambda h, m: h["fitted.support_vectors_"].update(dtype="F32"),
            "array 'fitted.support_vectors_' has the wrong size",
        ),
        (
            lambda h, m: h["fitted.support_vectors_"].update(shape=[2**61, 2**61]),
            "wrong size",
        ),
        (
            lambda h, m: h["fitted.support_vectors_"].update(shape=[-1, -4]),
            "impossible sizes",
        ),
    ],
)  # fmt: skip
def test_forgeries_are_told_in_one_sentence(change, complaint):
    header, body = header_of(saved(fitted("SVC, two classes")[0]))
    model = json.loads(header["__metadata__"]["model"])
    change(header, model)
    header["__metadata__"]["model"] = json.dumps(model)
    with pytest.raises(ValueError, match=complaint):
        wm.load(io.BytesIO(with_header(header, body)))


def test_the_container_keeps_any_numbers():
    chance = np.random.default_rng(0)
    arrays = {
        str(k): chance.integers(0, 100, size=shape).astype(dtype)
        for k, (dtype, shape) in enumerate(
            [("f8", (3, 2)), ("f4", ()), ("i8", 0), ("u1", 5), ("?", (2, 3)), (">f8", 4), ("u8", 1)]
        )
    }
    arrays["strided"] = np.arange(12.0).reshape(3, 4).T[::2]
    file = io.BytesIO()
    write_container(file, {"a": "ä"}, arrays)
    back = read_container(io.BytesIO(file.getvalue()))
    assert back.metadata["a"] == "ä"
    for key, array in arrays.items():
        assert back.arrays[key].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(back.arrays[key], array)
