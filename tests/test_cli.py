"""The command `widemargin`: each command on small data, its exit codes, pipes and errors."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris, load_wine

import widemargin as wm
from widemargin.cli.rows import sample
from widemargin.io.native_models import ESTIMATORS

X, Y = load_iris(return_X_y=True)


def facts(output):
    return json.loads(output[0])


# --- train, predict, evaluate --------------------------------------------------------------------


@pytest.mark.parametrize("data", ["iris.csv", "iris.svm"])
def test_training_writes_the_model_that_python_would_train(widemargin, data):
    text, _ = widemargin(f"train {data} -o model --C 10 --gamma 0.1")
    assert "converged" in text
    assert "relative gap" in text
    model, expected = wm.load("model"), wm.SVC(C=10, gamma=0.1).fit(X, Y)
    rows = X if data == "iris.svm" else load_iris(as_frame=True).data
    np.testing.assert_allclose(
        model.decision_function(rows), expected.decision_function(X), atol=1e-9
    )
    out, err = widemargin(f"predict {data} model")
    assert out.split() == [str(label) for label in expected.predict(X)]
    assert f"accuracy {expected.score(X, Y):.6g}" in err
    assert facts(widemargin(f"evaluate {data} model --json"))["accuracy"] == expected.score(X, Y)


def test_a_model_that_knows_its_features_finds_the_labels(widemargin, folder):
    frame = load_iris(as_frame=True).data
    frame["species"] = np.array(["a", "b", "c"])[Y]
    frame.to_csv("species.csv", index=False)
    assert "name it as the target" in widemargin("train species.csv -o m", code=1)[1]
    assert "--target species" in widemargin("doctor species.csv --target species")[0]
    widemargin("train species.csv --target species -o m")
    expected = wm.load("m").predict(frame.drop(columns="species"))
    score = np.mean(expected == frame["species"])
    assert facts(widemargin("evaluate species.csv m --json"))["accuracy"] == score
    assert widemargin("predict species.csv m")[0].split() == expected.tolist()
    widemargin("plot m species.csv -o m.png")
    frame.drop(columns="species").to_csv("new.csv", index=False)
    assert widemargin("predict new.csv m")[0].split() == expected.tolist()
    frame["more"] = 1.0
    frame.to_csv("more.csv", index=False)
    assert "name it as the target" in widemargin("predict more.csv m", code=1)[1]


def test_the_task_follows_from_the_targets(widemargin, folder):
    chance = np.random.default_rng(0)
    np.savez("numbers.npz", X=X, y=chance.normal(size=len(X)))
    np.save("rows.npy", X)
    cases = {"iris.csv": ("classification", "SVC"), "numbers.npz": ("regression", "SVR"),
             "rows.npy": ("detection", "OneClassSVM")}  # fmt: skip
    for data, (task, machine) in cases.items():
        found = facts(widemargin(f"train {data} -o model --json"))
        assert (found["task"], found["machine"]) == (task, machine)
        assert found["relative_gap"] < 1e-3
    machine = facts(widemargin("train iris.csv -o m --nu 0.1 --json"))["machine"]
    assert machine == "NuSVC"
    assert isinstance(wm.load("m"), wm.NuSVC)
    widemargin("train iris.csv -o m --machine LinearSVC --set loss=hinge --set fit_intercept=false")
    assert (wm.load("m").loss, wm.load("m").fit_intercept) == ("hinge", False)


@pytest.mark.parametrize("machine", ESTIMATORS)
def test_every_machine_goes_from_data_to_a_model_and_back(widemargin, machine):
    X_two, y_two = np.abs(X[:100]), 2 * Y[:100] - 1  # two classes, which detectors can judge too
    wm.dump_svmlight(X_two, y_two, "two.svm")
    options = " --set lam=0.1 --set gap_tol=0.5" if machine == "Pegasos" else ""
    found = facts(widemargin(f"train two.svm -o m --machine {machine} --json{options}"))
    assert found["machine"] == machine
    shown = facts(widemargin("inspect m --json"))
    assert (shown["machine"], shown["task"]) == (machine, found["task"])
    out, _ = widemargin("predict two.svm m")
    model = wm.load("m")
    np.testing.assert_allclose([float(v) for v in out.split()], model.predict(X_two))
    assert facts(widemargin("evaluate two.svm m --json"))["rows"] == 100
    widemargin("convert m m.onnx")
    widemargin("convert m m.c")


def test_detectors_are_not_compared_with_classes(widemargin):
    widemargin("train iris.svm -o m --machine OneClassSVM")
    out, err = widemargin("predict iris.svm m")
    assert set(out.split()) == {"1", "-1"}
    assert not err
    assert "labels 1 and -1 to compare" in widemargin("evaluate iris.svm m", code=1)[1]


def test_numbers_that_are_not_finite_are_null_in_json(widemargin):
    np.savez("still.npz", X=X, y=np.full(len(X), 0.5))
    widemargin("train still.npz -o m --task regression")
    text, _ = widemargin("evaluate still.npz m --json")
    assert json.loads(text, parse_constant=pytest.fail)["r2"] is None


def test_scores_and_probabilities_can_be_predicted(widemargin):
    widemargin("train iris.csv -o m --machine LogisticRegression")
    model = wm.load("m")
    rows = load_iris(as_frame=True).data
    out, _ = widemargin("predict iris.csv m --scores")
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(out)), model.decision_function(rows))
    widemargin("predict iris.csv m --probabilities -o p.txt")
    np.testing.assert_array_equal(np.loadtxt("p.txt"), model.predict_proba(rows))
    assert (
        facts(widemargin("predict iris.csv m --json"))["predictions"]
        == model.predict(rows).tolist()
    )


def test_a_fit_stopped_early_says_so_with_its_exit_code(widemargin):
    text, _ = widemargin("train iris.csv -o m --C 1e6 --set max_iter=3", code=3)
    assert "stopped at max_iter" in text
    assert wm.load("m").status_ is wm.Status.ITERATION_LIMIT


def test_data_models_and_predictions_go_through_pipes(folder):
    def run(line, data):
        command = [sys.executable, "-m", "widemargin", *line.split()]
        return subprocess.run(command, input=data, capture_output=True, check=True)

    trained = run("train - -o - --gamma 0.1", (folder / "iris.csv").read_bytes())
    assert b"relative gap" in trained.stderr
    model = wm.load(io.BytesIO(trained.stdout))
    assert model.score(load_iris(as_frame=True).data, Y) > 0.9
    (folder / "m").write_bytes(trained.stdout)
    predicted = run("predict - m", (folder / "iris.csv").read_bytes())
    assert np.mean([int(line) for line in predicted.stdout.split()] == Y) > 0.9
    run("convert - m.libsvm --format libsvm", trained.stdout)
    assert (folder / "m.libsvm").read_text().startswith("svm_type c_svc")


def test_a_test_file_may_lack_the_last_columns(widemargin, folder):
    (folder / "train.svm").write_text("1 1:1 3:1\n-1 2:1\n1 1:0.9\n-1 2:0.8 3:0.1\n")
    (folder / "test.svm").write_text("1 1:1\n")
    widemargin("train train.svm -o m")
    assert widemargin("predict test.svm m")[0] == "1\n"
    (folder / "wide.svm").write_text("1 7:1\n")
    assert "7 features" in widemargin("predict wide.svm m", code=1)[1]


def test_columns_of_other_names_are_refused(widemargin, folder):
    widemargin("train iris.csv -o m")
    load_iris(as_frame=True).frame.rename(columns=str.upper).to_csv("upper.csv", index=False)
    assert "the model learnt" in widemargin("predict upper.csv m", code=1)[1]


# --- scale, tune ---------------------------------------------------------------------------------


def test_scaling_is_remembered(widemargin):
    widemargin("scale wine.csv -o a.svm --save r --lower 0")
    wine = load_wine().data
    expected = (wine - wine.min(axis=0)) / np.ptp(wine, axis=0)
    np.testing.assert_allclose(wm.load_svmlight("a.svm")[0].toarray(), expected, atol=1e-14)
    widemargin("scale wine.csv -o b.npz --restore r")
    np.testing.assert_allclose(np.load("b.npz")["X"], expected, atol=1e-14)
    widemargin("train wine.csv -o m --ranges r")
    assert facts(widemargin("evaluate wine.csv m --ranges r --json"))["accuracy"] > 0.98
    assert facts(widemargin("evaluate wine.csv m --json"))["accuracy"] < 0.7


def test_a_search_finds_a_good_point_and_draws_it(widemargin, folder):
    widemargin("scale wine.csv -o s.svm --save r")
    line = "tune s.svm -o m --log2c -5:7:6 --log2g -15:-1:7 --rounds 1 --plot map.png --json"
    found = facts(widemargin(line))
    assert found["accuracy"] > 0.96
    assert found["points"] >= 9
    model = wm.load("m")
    assert (model.C, model.gamma) == (found["best"]["C"], found["best"]["gamma"])
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert facts(widemargin(line)) == found | {"seconds": pytest.approx(found["seconds"], abs=10)}


def test_a_search_without_gamma_and_for_regression(widemargin):
    found = facts(widemargin("tune iris.svm --kernel linear --log2c -3:3:3 --rounds 0 --json"))
    assert found["points"] == 3
    assert "gamma" not in found["best"]
    line = "tune iris.svm --task regression --log2c -1:1:2 --log2g -3:-1:2 --rounds 0 --json"
    assert facts(widemargin(line))["mean_squared_error"] < 0.1


def test_training_easily_scales_and_searches(widemargin, folder):
    found = facts(widemargin("train wine.csv -o m --easy --json --set tol=0.01"))
    assert found["accuracy"] > 0.97
    scored = facts(widemargin("evaluate wine.csv m --ranges m.range --json"))
    assert scored["accuracy"] > 0.97
    _, hint = widemargin("evaluate wine.csv m")
    assert "add --ranges m.range" in hint
    text, _ = widemargin("convert m m.libsvm --format libsvm --ranges m.range")
    assert "must be scaled too" in text


def test_exported_machines_scale_their_rows(widemargin, folder):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    said, _ = widemargin("train wine.csv -o m.onnx --easy --set tol=0.01")
    assert "built in" in said
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    X, y = wm.load_table("wine.csv")
    labels = session.run(["label"], {"rows": np.asarray(X, dtype=np.float32)})[0]
    assert np.mean(labels == y) > 0.97


# --- inspect, convert, plot ----------------------------------------------------------------------


def test_the_facts_of_a_model_are_shown(widemargin):
    widemargin("train iris.csv -o m --C 3")
    found = facts(widemargin("inspect m --json"))
    model = wm.load("m")
    assert found["support_vectors"] == model.support_.size
    assert found["classes"] == [0, 1, 2]
    assert found["settings"] == {"C": "3.0"}
    assert found["certificate"]["relative_gap"] == model.duality_gap_
    text, _ = widemargin("inspect m")
    assert "RBF(gamma=" in text


@pytest.mark.parametrize("format", ["libsvm", "widemargin"])
def test_models_are_converted(widemargin, format):
    widemargin("train iris.svm -o a")
    widemargin(f"convert a b --format {format}")
    back, model = wm.load("b"), wm.load("a")
    np.testing.assert_allclose(back.decision_function(X), model.decision_function(X), atol=1e-12)
    message = widemargin("convert a c --format svmlight", code=1)[1]
    assert "SVMlight knows two classes" in message


def test_models_are_exported(widemargin, folder):
    widemargin("train iris.svm -o a")
    for line in ("a b.onnx", "a b --format onnx"):
        found = facts(widemargin(f"convert {line} --json"))
        assert found["format"] == "onnx"
        session = onnxruntime.InferenceSession(folder / found["output"])
        labels = session.run(["label"], {"rows": X.astype(np.float32)})[0]
        assert labels.tolist() == wm.load("a").predict(X).tolist()
    widemargin("train iris.svm -o m.c --format c")
    assert "int model_class(const double *x)" in (folder / "m.c").read_text()
    message = widemargin("convert a b --format pmml", code=2)[1]
    assert "--format must be one of widemargin" in message


def test_data_are_converted_and_sampled(widemargin):
    widemargin("convert iris.csv all.svm")
    rows, y = wm.load_svmlight("all.svm")
    np.testing.assert_array_equal(rows.toarray(), X)
    np.testing.assert_array_equal(y, Y)
    widemargin("convert iris.csv part.svm --rows 30 --rest others.npz")
    part, others = wm.load_svmlight("part.svm")[0], wm.load_table("others.npz")[0]
    together = np.vstack([part.toarray(), others])
    assert sorted(map(tuple, together)) == sorted(map(tuple, X))
    rows, y = wm.load_svmlight("part.svm")
    assert np.bincount(y.astype(int)).tolist() == [10, 10, 10]
    assert (
        "--rows 1000 of data that have 150"
        in widemargin("convert iris.csv part.svm --rows 1000", code=1)[1]
    )
    assert "give --rows too" in widemargin("convert iris.csv a.svm --rest b.svm", code=2)[1]
    assert "LIBSVM text" in widemargin("convert iris.csv a.csv", code=2)[1]


def test_labels_that_are_texts_are_numbered(widemargin, folder):
    (folder / "named.csv").write_text("a,b,y\n0,1,u\n1,0,v\n0.5,0.2,u\n")
    assert "labels are numbered: u = 0, v = 1" in widemargin("convert named.csv a.svm")[0]
    assert "labels are numbered: u = 0, v = 1" in widemargin("scale named.csv -o b.svm")[0]
    for name in ("a.svm", "b.svm"):
        assert wm.load_svmlight(name)[1].tolist() == [0, 1, 0]


def test_training_easily_takes_a_machine(widemargin):
    widemargin("train iris.csv -o m --easy --machine LinearSVC")
    assert isinstance(wm.load("m"), wm.LinearSVC)
    assert (
        "ranges of its own" in widemargin("train iris.csv -o m --easy --ranges m.range", code=2)[1]
    )


def test_a_sample_keeps_the_share_of_each_class():
    y = np.repeat([5, 6, 7], [1000, 100, 10])
    for rows in (3, 111, 555):
        kept = sample(y, rows, seed=3)
        assert len(set(kept.tolist())) == rows
        counts = np.array([(y[kept] == label).sum() for label in (5, 6, 7)])
        assert np.all(np.abs(counts - rows * np.array([1000, 100, 10]) / 1110) <= 1.01)


def test_models_are_drawn(widemargin, folder):
    np.savez("plane.npz", X=X[:, :2], y=Y)
    np.savez("numbers.npz", X=X, y=X[:, 0] + 0.001)
    for data in ("iris.csv", "plane.npz", "numbers.npz"):
        widemargin(f"train {data} -o m")
        widemargin(f"plot m {data} -o a.png")
        widemargin("plot m -o b.svg")
        assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "b.svg").read_text()
    widemargin("train iris.csv -o m")
    widemargin("convert m n --format libsvm")
    assert "has no history of its fit" in widemargin("plot n", code=1)[1]


# --- errors and help -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("train missing.csv -o m", 1, "missing.csv: No such file or directory"),
        ("train iris.csv -o m --kernel cubic", 1, "kernel must be one of 'linear'"),
        ("train iris.csv -o m --target colour", 1, "has no column 'colour'"),
        ("train iris.csv -o nowhere/m", 1, "there is no folder"),
        ("train gaps.csv -o m", 1, "inf in 1 of its 2 rows; `widemargin doctor gaps.csv` names"),
        ("train iris.csv", 2, "Missing option"),
        ("train iris.csv -o m --set C", 2, "--set needs name=value"),
        ("train iris.csv -o m --set colour=1", 2, "SVC has no parameter 'colour'"),
        ("train iris.csv -o m --machine Tree", 2, "--machine must be auto or one of SVC"),
        ("train iris.csv -o m --task sorting", 2, "--task must be auto, classification"),
        ("predict iris.csv iris.csv", 1, "is no model of widemargin"),
        ("tune iris.csv --log2c 1:2", 2, "--log2c must be first:last:step"),
        ("evaluate rows.npy m", 1, "has no labels to compare with"),
        ("dance", 2, "No such command"),
    ],
)
def test_errors_are_one_sentence_and_an_exit_code(widemargin, line, code, sentence):
    np.save("rows.npy", X)
    Path("gaps.csv").write_text("a,y\n1,u\n,v\n")
    wm.save(wm.SVC().fit(X, Y), "m")
    assert sentence in " ".join(widemargin(line, code)[1].split())


def test_help_teaches_with_examples(widemargin):
    for command in ("train", "predict", "evaluate", "scale", "tune", "inspect", "convert", "plot",
                    "doctor"):  # fmt: skip
        text, _ = widemargin(f"{command} --help")
        assert f"\n  widemargin {command} " in text
    assert widemargin("--version")[0] == f"widemargin {wm.__version__}\n"


def test_the_shell_completes_commands_and_options(folder):
    for words, found in (("widemargin tr", "train"), ("widemargin train --ker", "--kernel")):
        asked = {"_WIDEMARGIN_COMPLETE": "complete_bash", "COMP_WORDS": words,
                 "COMP_CWORD": str(words.count(" "))}  # fmt: skip
        code = "from widemargin.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, check=False
        )
        assert done.stdout.decode().split() == [found], done.stderr


def test_importing_the_library_does_not_load_the_command():
    code = "import sys, widemargin; print('typer' in sys.modules, 'click' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert output.stdout.split() == [b"False", b"False"]
