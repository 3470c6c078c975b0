"""The script `dpforest/verify.py`, which runs without dpforest: its sums are right, and it detects forgeries."""

import ast
import copy
import gzip
import io
import json
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from decimal import localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import verify
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.privacy.normal_bounds import hockey_stick
from dpforest.privacy.rationals import float_up, text_up
from tests.conftest import examples, some
from tests.models.filed_cases import MODELS, changed, content_of, filed

HOME = Path(__file__).parents[1]
DATA = HOME / "tests" / "data"
LAST = verify.LAST


def run(data: bytes, folder: Path) -> tuple[int, str]:
    """Return exit code and output of the script in an empty folder, without site packages and without dpforest."""
    shutil.copy(verify.__file__, folder / "verify.py")
    (folder / "file").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "verify.py", "file"], cwd=folder, capture_output=True, encoding="utf-8", env={}
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def verdict(data: bytes, folder: Path) -> tuple[int, str]:
    """Return exit code and output of the script in this process, which is faster than `run`."""
    path, out = folder / "file", io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    path.write_bytes(data)
    with redirect_stdout(out):
        code = verify.main([str(path)])
    out.seek(0)
    return code, out.read()


def test_the_script_imports_only_the_standard_library():
    tree = ast.parse(Path(verify.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in imports if isinstance(node, ast.ImportFrom)}
    assert names and names <= sys.stdlib_module_names


@pytest.mark.parametrize(("name", "neighbors"), some(MODELS, ["add-remove", "replace-one"]))
def test_a_file_of_every_estimator_agrees_with_itself(name, neighbors, tmp_path):
    forest = filed(name, neighbors)
    code, text = run(forest.to_bytes(), tmp_path)
    lines = text.splitlines()
    assert code == 0 and lines[-2].startswith("The numbers in this file agree with each other: ") and lines[-1] == LAST
    loss, certificate = forest.ledger.loss, forest.certificate
    gaussian = loss.kind == "gaussian"
    amount = f"{'μ' if gaussian else 'ε'} = {text_up(loss.mu if gaussian else loss.amount)}"
    at = f" at δ = {certificate.delta:.0e}".replace("e-0", "e-") if gaussian else ""
    promise = min(Fraction(str(certificate.true_epsilon)), Fraction(certificate.true_epsilon))
    assert lines[-2].endswith(
        f"cost {amount}, and the certificate states a loss of at most ε = {text_up(promise)}{at}."
    )
    assert len([line for line in lines if line.startswith("  ")]) == len(forest.ledger.entries)
    for entry in forest.ledger.entries:
        (line,) = [line for line in lines if line.startswith(f"  {entry.what}:")]
        assert f"sensitivity {text_up(entry.sensitivity)}, {entry.times:,} times" in line
        assert (
            f"= {text_up(PrivacyLoss.gaussian(entry.each.amount).mu if gaussian else entry.each.amount)} each" in line
        )


@pytest.mark.parametrize("path", sorted(DATA.glob("v[123]_[!e]*")), ids=lambda path: path.name)
def test_old_files_agree_with_themselves(path, tmp_path):
    assert verdict(path.read_bytes(), tmp_path)[0] == 0


POINTS = [(e, d) for e in ("1/10000", "1/100", "1/2", "3", "40", "1000", "10000") for d in ("1/10", "1e-6", "1e-15")]


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
def test_delta_of_the_script_equals_that_of_dpforest(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    with localcontext(verify.EXACT):
        for mu_squared in (mu_for(epsilon, delta).mu_squared, Fraction(1, 3), epsilon, Fraction(2000)):
            verified, ours = Fraction(verify.delta_at(mu_squared, epsilon)), hockey_stick(mu_squared, epsilon)
            assert (
                Fraction(ours.low) <= verified <= Fraction(ours.high) * (1 + Fraction(1, 10**30)) + Fraction(1, 10**40)
            )
        assert Fraction(verify.delta_at(mu_for(epsilon, delta).mu_squared, epsilon)) <= delta


def test_delta_of_the_script_equals_that_of_another_accountant():
    mechanism = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    with localcontext(verify.EXACT):
        for mu, epsilon in ((0.05, 0.01), (0.25, 1.0), (1.0, 0.5), (2.0, 10.0), (6.0, 30.0)):
            other = mechanism.GaussianPrivacyLoss(standard_deviation=1 / mu).get_delta_for_epsilon(epsilon)
            assert float(verify.delta_at(Fraction(mu) ** 2, Fraction(epsilon))) == pytest.approx(other, rel=1e-6)


# ---------------------------------------------------------------- forged numbers


def put(*path, value):
    def change(content: dict) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def unasked(what: str):
    """Return a change that removes a query from the ledger and adjusts the sums. The answer stays in the file."""

    def change(content: dict) -> None:
        ledger, certificate = content["ledger"], content["certificate"]
        ledger["entries"] = [entry for entry in ledger["entries"] if not entry["what"].startswith(what)]
        loss = sum(Fraction(entry["epsilon_each"]) * entry["times"] for entry in ledger["entries"])
        ledger["epsilon"] = ledger["spent"] = certificate["epsilon"] = str(loss)
        certificate["true_epsilon"] = float_up(loss)

    return change


FORGED = {
    "no number of rows": ("booster, pure", unasked("number of rows")),
    "no scale": ("tree", unasked("scale")),
    "splits of one level": ("tree", put("ledger", "entries", 1, "times", value=1)),
    "ε of 4 becomes 0.01": ("booster", put("certificate", "epsilon", value="1/100")),
    "true ε": ("booster", put("certificate", "true_epsilon", value=0.01)),
    "true ε of a pure one": ("labels", put("certificate", "true_epsilon", value=0.01)),
    "δ of 0.999": ("booster", put("certificate", "delta", value=0.999)),
    "δ of 1e-7": ("booster", put("certificate", "delta", value=1e-7)),
    "ε of a pure one": ("labels", put("certificate", "epsilon", value="1/100")),
    "ε of none": ("labels", put("certificate", "epsilon", value="1/1000000")),
    "sensitivity": ("booster", put("ledger", "entries", 2, "sensitivity", value="1/1000")),
    "sensitivity of the scale": ("counts", put("ledger", "entries", 1, "sensitivity", value="3")),
    "sensitivity of counts": ("rf-l", put("ledger", "entries", -1, "sensitivity", value="1/1000")),
    "another mechanism": ("booster", put("ledger", "entries", 2, "mechanism", value="discrete-laplace")),
    "another mechanism of leaves": ("counts", put("ledger", "entries", -1, "mechanism", value="exponential")),
    "fewer rounds": ("booster", put("ledger", "entries", 2, "times", value=1)),
    "parallel": ("booster", put("ledger", "entries", 2, "composition", value="parallel")),
    "other rows": ("tree", put("ledger", "entries", -1, "part", value="structure rows")),
    "relation": ("booster", put("certificate", "neighbors", value="replace-one")),
    "relation of the ledger": ("booster", put("ledger", "neighbors", value="replace-one")),
    "the sum": ("booster", put("ledger", "mu_squared_spent", value="1/1000")),
    "the sum of a pure one": ("labels", put("ledger", "spent", value="1/2")),
    "μ² of the certificate": ("booster", put("certificate", "mu_squared", value="1/1000")),
    "a cost": ("booster", put("ledger", "entries", 2, "mu_squared_each", value="1/1000")),
    "no entries": ("booster", put("ledger", "entries", value=[])),
    "a reason": ("booster", put("certificate", "reasons", value=["It rains."])),
    "one class more": ("booster", put("domain", "classes", value=[0, 1, 2, 3])),
    "an open ledger": ("labels", put("ledger", "closed", value=False)),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_numbers_are_detected(what, tmp_path):
    name, forge = FORGED[what]
    code, text = verdict(json.dumps(changed(name, forge)).encode(), tmp_path)
    lines = text.splitlines()
    assert code == 1 and lines[-2].startswith("The numbers in this file do not agree with each other: "), text
    assert lines[-1] == LAST and len(lines[-2]) < 500


def test_a_file_that_is_not_certified_promises_nothing(tmp_path):
    data = filed("labels", random_state=1).to_bytes(uncertified=True)
    code, text = verdict(data, tmp_path)
    assert code == 0 and "but it is not certified: it promises nothing." in text


# ---------------------------------------------------------------- damaged and malicious files


def json_with(name: str, value: str) -> bytes:
    text = json.dumps(content_of("booster"))
    return text.replace(f'"{name}": ', f'"{name}": {value}, "{name}_": ', 1).encode()


BROKEN = {
    "nothing": b"",
    "text": b"hello",
    "a list": b"[]",
    "another file": b'{"format": "x"}',
    "another version": b'{"format": "dpforest released forest", "version": 3}',
    "no fields": b'{"format": "dpforest released forest", "version": 2}',
    "keys twice": b'{"format": "dpforest released forest", "format": "dpforest released forest", "version": 2}',
    "nested": b"[" * 100_000,
    "many values": b"[" + b"1," * 3_000_000 + b"1]",
    "no gzip": b"\x1f\x8b" + bytes(50),
    "gzip, cut short": gzip.compress(b'{"format": "dpforest released forest"}')[:-9],
    "a bomb": gzip.compress(bytes(2**28 + 1), 1),
    "an exponent": json_with("delta", "1e999999"),
    "a small exponent": json_with("delta", "1e-999999"),
    "NaN": json_with("delta", "NaN"),
    "many digits": json_with("times", "9" * 100_000),
    "a huge ε": json_with("true_epsilon", "1" + "0" * 4_000),
    "a long fraction": json_with("epsilon", '"' + "9" * 100_000 + '"'),
    "division by zero": json_with("epsilon", '"1/0"'),
    "Arabic digits": json_with("epsilon", '"٣"'),
    "a negative": json_with("epsilon", '"-1"'),
    "another type": json_with("entries", "7"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_reported_in_a_sentence(what, tmp_path):
    code, text = verdict(BROKEN[what], tmp_path)
    assert code == 2 and text.splitlines()[-2].startswith("This file cannot be read: ")
    assert text.splitlines()[-2].endswith(".") and text.splitlines()[-1] == LAST


def test_a_missing_file_is_reported_in_a_sentence_without_traceback(tmp_path):
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    for arguments in (["nowhere"], ["."], []):
        done = subprocess.run(
            [sys.executable, "-I", "verify.py", *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 2 and "Traceback" not in done.stderr + done.stdout


PARTS = ("certificate", "ledger", "domain", "about", "trees")
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=9),
    st.sampled_from(["1/0", "0", "7", "1/1000", "9" * 200, "0/" + "9" * 200, 10**300, [], {}, [[]], "\x1b[2J"]),
)


@settings(max_examples=examples(250), deadline=None, derandomize=True, database=None)
@given(st.data())
def test_any_value_in_a_field_gives_a_verdict(tmp_path_factory, data):
    content = copy.deepcopy(content_of(data.draw(st.sampled_from(["booster", "labels", "multinomial"]))))
    place: dict | list = content[data.draw(st.sampled_from(PARTS))]
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(ODD)
        break
    code, text = verdict(json.dumps(content).encode(), tmp_path_factory.getbasetemp())
    assert code in (0, 1, 2) and text.splitlines()[-1] == LAST and "\x1b" not in text
