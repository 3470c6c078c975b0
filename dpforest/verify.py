"""Check the numbers of a released forest: python -I dpforest/verify.py FILE

This script needs only Python 3.11 and its standard library, not dpforest. The file of a forest contains a ledger: a
list of the questions that the fit asked about the rows of its table, with the noise on each answer. The script computes
the privacy cost of each question without the code of dpforest, adds up the costs, and compares the sum with the ε that
the file promises. Exit codes: 0 if the numbers agree, 1 if they do not agree, 2 if the script cannot read the file.
"""

import argparse
import gzip
import io
import json
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

MOST_BYTES = 2**28  # largest size of a forest's text in bytes
MOST_VALUES = 2_000_000  # largest number of commas and opening brackets in this text
EPSILONS = (Fraction(1, 10**4), 10**4)  # least and largest ε that a fit accepts
DELTAS = (Fraction(1, 10**15), Fraction(1, 10))  # least and largest δ that a fit with Gaussian noise accepts
GAUSSIAN_NOISE, LAPLACE_NOISE = "rounded-gaussian", "discrete-laplace"
CHOICES = ("exponential", "permute-and-flip", "global-01")
ALL, STRUCTURE, ESTIMATION = "", "structure rows", "estimation rows"
# All questions that a fit may ask, one on each line. The fields of a line are:
# - the first words of the question;
# - the mechanisms that may answer the question;
# - its sensitivity, or a name from which `sensitivity_of` computes it, or None if it depends on a setting of the fit;
# - the parts of the rows that the question may read;
# - whether the fit may ask the question once of each of several disjoint groups of rows, for the cost of one question;
# - how often a fit asks the question (`times_of`), or None if the shape of the forest does not determine the number.
QUESTIONS = (
    ("number of rows", (GAUSSIAN_NOISE, LAPLACE_NOISE), 1, (ALL,), False, "once"),
    ("number of persons", (GAUSSIAN_NOISE, LAPLACE_NOISE), 1, (ALL,), False, "once"),
    ("scale of numeric attributes", (GAUSSIAN_NOISE, LAPLACE_NOISE), "scale", (ALL,), False, "once"),
    ("leaf gradient sums, tree by tree", (GAUSSIAN_NOISE, LAPLACE_NOISE), "gradients", (ALL,), False, "trees"),
    ("label of each leaf, tree by tree", CHOICES, 1, (ALL, ESTIMATION), False, "trees"),
    ("label of each leaf, rows shared out", CHOICES, 1, (ALL, ESTIMATION), True, None),
    ("label of each leaf, persons shared out", CHOICES[:2], 1, (ALL, ESTIMATION), True, None),
    ("class counts of each leaf, rows shared out", (LAPLACE_NOISE,), 1, (ALL,), True, None),
    ("class counts of each leaf, persons shared out", (LAPLACE_NOISE,), 1, (ALL,), True, None),
    ("class counts of each leaf", (LAPLACE_NOISE,), 1, (ALL,), False, "trees"),
    ("splits, level by level", ("exponential",), None, (ALL,), False, "levels"),
    ("feature of each level, tree by tree", ("exponential",), 2, (STRUCTURE,), False, "levels"),
    ("feature of each level", ("exponential",), 2, (STRUCTURE,), False, "depth"),
    ("value to split at of each level, tree by tree", ("exponential",), 2, (STRUCTURE,), False, "levels"),
    ("value to split at of each level", ("exponential",), 2, (STRUCTURE,), False, "depth"),
    ("error of the tree so far", (LAPLACE_NOISE,), 1, (ALL,), False, "levels"),
    ("coefficient β of each tree", (LAPLACE_NOISE,), 1, (ALL,), False, "trees"),
    ("class weights of the leaves", (LAPLACE_NOISE,), 1, (ALL,), False, "trees"),
    ("values of the leaves", (LAPLACE_NOISE,), 1, (ALL,), False, "trees or leaves"),
)
LAST = (
    "A certificate is only what the file says about itself. The person who wrote the file could have made up all of it."
)


class Unreadable(ValueError):
    """Raised if the file is not a released forest. The message completes “This file cannot be read: ...”."""


class Mismatch(ValueError):
    """Raised if two fields of the file contradict each other. The message is a sentence."""


# ---------------------------------------------------------------- reading


def content_of(path):
    """Return the JSON content of a file, which may be compressed by gzip."""
    with open(path, "rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path) if is_compressed else open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES or sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Unreadable("it is larger than any forest of dpforest")
    content = json.loads(
        text.decode("utf-8-sig"), parse_float=number, parse_constant=number, object_pairs_hook=unique_keys
    )
    if not isinstance(content, dict) or content.get("format") != "dpforest released forest":
        raise Unreadable("it is not a released forest")
    if content.get("version") not in (1, 2, 3):
        raise Unreadable("its format version is not 1, 2 or 3")
    return content


def number(digits):
    """Return the exact value of a JSON number that has a decimal point or an exponent.

    Raise Unreadable if the number is too long, too large, too small, or not finite.
    """
    if len(digits) > 60 or not re.fullmatch(r"-?[0-9.]+([eE][+-]?[0-9]{1,3})?", digits):
        raise Unreadable("a number in it is too long, too large or too small")
    return Fraction(digits)


def unique_keys(pairs):
    """Return the pairs of a JSON object as a dictionary. Raise Unreadable if a key occurs twice."""
    if len(dict(pairs)) < len(pairs):
        raise Unreadable("it has a key twice")
    return dict(pairs)


def fraction(text, what):
    """Return the fraction that a text such as "1/10" states. `what` names the field in the error."""
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,200}(/[0-9]{1,200})?", text):
        raise Unreadable(f"{what} is not a fraction")
    return Fraction(text)


def whole(x, what):
    """Return a whole number from 1 to 2**63 - 1 unchanged. Raise Unreadable for any other value."""
    if type(x) is not int or not 1 <= x < 2**63:
        raise Unreadable(f"{what} is not a whole number of at least 1")
    return x


def real(x, what):
    """Return a number of at least 0 as a fraction. Raise Unreadable for any other value."""
    if type(x) not in (int, Fraction) or not 0 <= x < 10**300:
        raise Unreadable(f"{what} is not a number of at least 0")
    return Fraction(x)


# ---------------------------------------------------------------- arithmetic, in decimals of 120 digits

EXACT = Context(prec=120, Emin=-(10**6), Emax=10**6)
SLACK = Decimal("1e-60")  # tolerance, far above the rounding error of a few thousand operations with 120 digits


def decimal(x):
    """Return a fraction as a decimal, rounded to the precision of the context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


def upper_tail(x):
    """Return bounds on P(Z > x) of a standard normal Z."""
    if x < 0:
        low, high = upper_tail(-x)
        return 1 - high, 1 - low
    pi = Decimal(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    if x < 6:  # 1/2 - (x - x³/6 + x⁵/40 - ...)/√(2π); signs alternate, so the first omitted term bounds the error
        power, total, k = x, Decimal(0), 0
        while abs(power) > Decimal("1e-90") or k < x * x:
            total += power / (2 * k + 1)
            k += 1
            power *= -x * x / (2 * k)
        middle, error = Decimal("0.5") - total / (2 * pi).sqrt(), abs(power) + SLACK
        return max(middle - error, Decimal(0)), middle + error
    ends = []  # Laplace's continued fraction after 200 and 201 steps: one value is too low, one value is too high
    for steps in (200, 201):
        below = x
        for k in range(steps, 0, -1):
            below = x + k / below
        ends.append((-x * x / 2).exp() / (2 * pi).sqrt() / below)
    return min(ends) * (1 - SLACK), max(ends) * (1 + SLACK)


def delta_at(mu_squared, epsilon):
    """Return an upper bound on δ(ε), the least δ for which μ-Gaussian differential privacy implies (ε, δ).

    For a standard normal Z, δ(ε) = P(Z > ε/μ - μ/2) - e^ε P(Z > ε/μ + μ/2).
    """
    if not mu_squared:
        return Decimal(0)
    mu, exact_epsilon = decimal(mu_squared).sqrt(), decimal(epsilon)
    above, below = upper_tail(exact_epsilon / mu - mu / 2)[1], upper_tail(exact_epsilon / mu + mu / 2)[0]
    return max(above - exact_epsilon.exp() * below * (1 - SLACK), Decimal(0)) + above * SLACK


def six_digits(x, rounding=ROUND_CEILING):
    """Return a number as text with six digits.

    By default, the number is rounded up, which is right for costs. Callers round noise down. So no text overstates the
    privacy of the forest.
    """
    x = Context(prec=6, rounding=rounding).plus(decimal(x) if isinstance(x, Fraction) else x).normalize()
    return f"{x:f}" if not x or -5 <= x.adjusted() < 7 else f"{x:e}"


def printable(text):
    """Return at most 200 characters of a text from the file, with each unprintable character replaced by "?"."""
    return "".join(c if c.isprintable() else "?" for c in str(text))[:200]


# ---------------------------------------------------------------- checks


def sensitivity_of(rule, content, gaussian):
    """Return the sensitivity that follows from the domain of the forest; its square if the noise is Gaussian.

    `rule` is the third field of a line of `QUESTIONS`.
    """
    if rule == "scale":
        numbers = sum(feature["kind"] == "numeric" for feature in content["domain"]["features"])
        return Fraction(3 * numbers)
    if rule == "gradients":
        k = len(content["domain"]["classes"])
        if gaussian:
            return Fraction(1, 4) if k == 2 else Fraction(k - 1, k)
        return Fraction(1, 2) if k == 2 else Fraction(2048 * (k - 1) // k, 1024)
    return Fraction(rule)


def times_of(often, content):
    """Return the possible numbers of times that a fit asks a question, given the number of trees and their depth.

    `often` is the last field of a line of `QUESTIONS`.
    """
    trees, depth = content["trees"], whole(content["depth"] + 1, "depth") - 1
    n = trees["n_trees"] if content["version"] > 1 else trees["tree_start"]["shape"][0] - 1
    n = whole(n, "the number of trees")
    possible = {"once": (1,), "trees": (n,), "depth": (depth,), "levels": (n * depth,)}
    return possible.get(often, (n, n * 2 ** min(depth, 20)))


def unit_of(content):
    """Return the unit of privacy, "row" or "person", and print the largest number of rows of a person.

    Raise Mismatch if parts of the file state different units.
    """
    unit = content["domain"].get("unit")
    column = None if unit is None else unit["column"]
    if not content["certificate"].get("unit") == content["ledger"].get("unit") == column:
        raise Mismatch("The domain, the ledger and the certificate do not have the same unit of privacy.")
    if column is None:
        return "row"
    print(f"The unit of privacy is a person: at most {unit['most_rows']} rows with the same “{printable(column)}”.")
    if "noisy_counts" in content and content.get("count_unit") != 1024:
        raise Mismatch("A file whose unit of privacy is a person has its counts in 1/1024.")
    return "person"


def check_scale_and_row_count(content):
    """Raise Mismatch if only one of file and ledger has a scale, or if n_rows is neither charged nor public."""
    questions = [str(entry["what"]) for entry in content["ledger"]["entries"]]
    if ("scale" in content) != any(what.startswith("scale of numeric attributes") for what in questions):
        raise Mismatch("The file has a scale but no ledger entry for it, or a ledger entry but no scale.")
    n_rows, certificate = content.get("about", {}).get("n_rows"), content["certificate"]
    is_charged = any(what.startswith(("number of rows", "number of persons")) for what in questions)
    if not n_rows or certificate["neighbors"] != "add-remove" or is_charged:
        return
    if not any(f"{whole(n_rows, 'n_rows'):,}" in str(sentence) for sentence in certificate["assumptions"]):
        raise Mismatch("The file has a number of rows, but no ledger entry or assumption for it.")


def check_question(entry, content, gaussian):
    """Print and check an entry of the ledger. Return its cost for one added or removed row, and the rows that it reads.

    The cost is an ε or, if the noise is Gaussian, a μ².
    """
    what, mechanism, part = entry["what"], entry["mechanism"], entry.get("part", "")
    sensitivity = fraction(entry["sensitivity"], "a sensitivity")
    times = whole(entry["times"], "how often something was asked")
    name = "mu_squared_each" if gaussian else "epsilon_each"
    each = fraction(entry.get(name), f"{name} of an entry")
    if not each or not sensitivity:
        raise Mismatch(f"“{printable(what)}” costs nothing or has no sensitivity.")
    noise = ""
    if mechanism in (GAUSSIAN_NOISE, LAPLACE_NOISE):
        sigma = decimal(sensitivity) / decimal(each).sqrt() if gaussian else decimal(sensitivity) / decimal(each)
        noise = f", noise {'σ' if gaussian else 'scale'} = {six_digits(sigma, ROUND_FLOOR)}"
    cost = f"{'μ' if gaussian else 'ε'} = {six_digits(decimal(each).sqrt() if gaussian else each)}"
    print(
        f"  {printable(what)}: {printable(mechanism)}, sensitivity {six_digits(sensitivity)}, {times:,} times "
        f"({printable(entry['composition'])}){noise}, {cost} each"
    )
    question = next((q for q in QUESTIONS if str(what).startswith(q[0])), None)
    if question is None or mechanism not in question[1] or (mechanism == GAUSSIAN_NOISE) != gaussian:
        raise Mismatch(f"No forest asks “{printable(what)}” with the mechanism {printable(mechanism)}.")
    _, _, rule, parts, may_be_parallel, often = question
    if part not in parts or entry["composition"] not in ("sequential", *("parallel",) * may_be_parallel):
        raise Mismatch(f"No forest asks “{printable(what)}” of these rows, or with this composition.")
    if rule is not None:
        expected, stated = sensitivity_of(rule, content, gaussian), sensitivity**2 if gaussian else sensitivity
        if not expected <= stated <= expected * (1 + Fraction(1, 10**8)) if gaussian else stated != expected:
            raise Mismatch(
                f"The sensitivity of “{printable(what)}” is {six_digits(sensitivity)}, which does not follow "
                "from the domain."
            )
    if often and times not in (possible := times_of(often, content)):
        raise Mismatch(
            f"“{printable(what)}” was asked {times:,} times, but the trees need {' or '.join(map(str, possible))}."
        )
    return each * (1 if entry["composition"] == "parallel" else times), part


def check(content):
    """Print the ledger of a file, question by question, and return the verdict on the file as a sentence.

    Raise Mismatch if two fields of the file contradict each other.
    """
    certificate, ledger = content["certificate"], content["ledger"]
    for part in (certificate, ledger):  # older files have the British spelling of this key
        part.setdefault("neighbors", part.get("neighbours"))
    kind, relation, certified = certificate["kind"], certificate["neighbors"], certificate["certified"]
    if kind not in ("pure", "gaussian") or relation not in ("add-remove", "replace-one") or type(certified) is not bool:
        raise Unreadable("its certificate has an unknown kind, relation or verdict")
    gaussian, name = kind == "gaussian", "mu_squared" if kind == "gaussian" else "epsilon"
    epsilon, delta = fraction(certificate["epsilon"], "ε"), real(certificate["delta"], "δ")
    print(
        f"The file says: {'' if certified else 'NOT '}CERTIFIED, {kind}, ε = {six_digits(epsilon)}, "
        f"δ = {six_digits(delta)}, {relation}."
    )
    if certified == bool(certificate["reasons"]):
        raise Mismatch("A certificate must give a reason if it is not certified, and none if it is.")
    if (ledger.get("kind", "pure"), ledger["neighbors"]) != (kind, relation) or ledger["closed"] is not True:
        raise Mismatch("The ledger is not closed, or its kind or relation differs from the certificate's.")
    check_scale_and_row_count(content)
    noun = unit_of(content)
    changes = 1 if relation == "add-remove" else 2
    costs = {ALL: Fraction(0)}
    print("Questions to the rows:")
    for entry in ledger["entries"]:
        cost, part = check_question(entry, content, gaussian)
        costs[part] = costs.get(part, 0) + cost * (changes**2 if gaussian else changes)
    total = costs.pop(ALL) + max(costs.values(), default=0)
    amount = f"μ = {six_digits(decimal(total).sqrt())}" if gaussian else f"ε = {six_digits(total)}"
    print(f"Total, for one {noun} {'added or removed' if changes == 1 else 'replaced'}: {amount}.")
    budget, spent = fraction(ledger[name], "the budget"), ledger.get(f"{name}_spent" if gaussian else "spent")
    if spent is not None and fraction(spent, "what was spent") != total:
        raise Mismatch("The amount spent, according to the ledger, is not the sum of its entries.")
    if not 0 < total <= budget:
        raise Mismatch(f"The ledger spends {six_digits(total)} of a budget of {six_digits(budget)}.")
    if not EPSILONS[0] <= epsilon <= EPSILONS[1] or gaussian and not DELTAS[0] <= delta <= DELTAS[1]:
        raise Mismatch("Every fit has an ε from 0.0001 to 10,000, and a δ from 1e-15 to 0.1 where noise is Gaussian.")
    if not gaussian and (budget != epsilon or delta):
        raise Mismatch(
            f"The budget is ε = {six_digits(budget)}, the certificate says ε = {six_digits(epsilon)}, "
            f"δ = {six_digits(delta)}."
        )
    if gaussian:
        check_delta(budget, epsilon, delta, "its budget")
    if not certified:
        return "The numbers in this file agree with each other, but it is not certified: it promises nothing."
    loss = real(certificate["true_epsilon"], "true_epsilon")
    if gaussian and fraction(certificate.get("mu_squared"), "mu_squared") != total:
        raise Mismatch("mu_squared on the certificate is not the sum of the ledger.")
    if gaussian:
        check_delta(total, loss, delta, "what was spent")
    elif float(loss) < float(total):
        raise Mismatch(
            f"The certificate states a cost of ε = {six_digits(loss)}, but the ledger adds up to {six_digits(total)}."
        )
    if float(loss) > float(epsilon) * (1 + 2**-50):
        raise Mismatch("The certificate states a cost above its ε.")
    at_delta = f" at δ = {six_digits(delta)}" if gaussian else ""
    return (
        f"The numbers in this file agree with each other: the questions cost {amount}, and the certificate states a "
        f"loss of at most ε = {six_digits(loss)}{at_delta}."
    )


def check_delta(mu_squared, epsilon, delta, what):
    """Print the least δ at this ε, and raise Mismatch if it is above the stated δ. `what` names the μ²."""
    least = delta_at(mu_squared, epsilon)
    print(f"By {what}: δ({six_digits(epsilon)}) = {six_digits(least)}.")
    if Fraction(least) > delta:
        raise Mismatch(
            f"With μ² = {six_digits(mu_squared)}, ε = {six_digits(epsilon)} needs δ = {six_digits(least)}, "
            f"not {six_digits(delta)}."
        )


def main(arguments=None, prog=None):
    """Check a file, and return the exit code."""
    parser = argparse.ArgumentParser(prog, description="Check the numbers of a released forest of dpforest.")
    parser.add_argument("file", help="a file that dpforest wrote: .json.gz or .json")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may be unable to show the character ε
        sys.stdout.reconfigure(errors="backslashreplace")
    with localcontext(EXACT):
        try:
            print(check(content_of(parser.parse_args(arguments).file)))
            code = 0
        except Mismatch as mismatch:
            print(f"The numbers in this file do not agree with each other: {mismatch}")
            code = 1
        except Unreadable as reason:
            print(f"This file cannot be read: {reason}.")
            code = 2
        except Exception as error:  # a damaged file can cause any error
            damaged = "it is not JSON, it is cut short, or a field is missing or has the wrong type"
            print(f"This file cannot be read: {getattr(error, 'strerror', None) or damaged}.")
            code = 2
    print(LAST)
    return code


if __name__ == "__main__":
    sys.exit(main())
