"""Reader of released forests that follows docs/FORMAT.md alone. It uses JSON, zlib, base64 and numpy, not dpforest."""

import base64
import gzip
import json
import math
import zlib

import numpy as np

M = 2**64


def array(entry):
    kind = np.dtype("<" + entry["type"])
    planes = np.frombuffer(zlib.decompress(base64.b64decode(entry["data"])), np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind).reshape(entry["shape"])


def code(feature, value):
    """Return the code of a cell. A missing cell is None."""
    if feature["kind"] == "categorical":
        return feature["categories"].index(value) if value is not None else len(feature["categories"])
    if value is None:
        return 0
    span = 65_536 - (5_957 if feature["missing"] == "own" else 0)
    return 65_536 - span + min(math.floor(place(feature, value) * span), span - 1)


def place(feature, value):
    low, high, scale = feature["low"], feature["high"], feature.get("scale", "linear")
    if not low < value < high:
        return 0 if value <= low else 1
    t = (value - low) / (high - low)
    k = 20
    if feature.get("integer"):
        k = min([k for k in range(1, 21) if 2**k >= 1 + high - low], default=20)

    def g(t):
        bits = np.array([1 + (2.0**k - 1) * t, 1.0]).view(np.int64)
        return int(bits[0] - bits[1]) / 2**52 / k

    def h(v):
        return math.copysign(g(abs(v) / max(-low, high)), v)

    both = low < 0 < high and -low > (high - low) / 50
    q = (h(value) - h(low)) / (h(high) - h(low)) if both else g(t)
    return {"linear": t, "log": q, "auto": t / 2 + q / 2}[scale]


def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % M
    z = (z ^ z >> 27) * 0x94D049BB133111EB % M
    return z ^ z >> 31


def uniform(seed, key):
    odd = 0x9E3779B97F4A7C15
    return (mixed((key * odd + mixed((seed + odd) % M)) % M) >> 11) * 2.0**-53


class Reader:
    def __init__(self, data: bytes):
        self.file = file = json.loads(gzip.decompress(data))
        assert file["format"] == "dpforest released forest" and file["version"] in (2, 3)
        self.features, self.k = file["domain"]["features"], len(file["domain"]["classes"])
        trees = file["trees"]
        tests = list(zip(array(trees["test_feature"]).tolist(), array(trees["test_kind"]).tolist()))
        nodes, thresholds = iter(array(trees["nodes"]).tolist()), iter(array(trees["thresholds"]).tolist())
        self.trees = [[[None, None, []]] for _ in range(trees["n_trees"])]  # [test, threshold, children] of each node
        level = [(tree, tree[0]) for tree in self.trees]
        for _ in range(file["depth"]):
            below = []
            for tree, node in level:
                if test := next(nodes):
                    feature, kind = node[0] = tests[test - 1]
                    node[1] = None if kind == 2 else next(thresholds)
                    node[2] = [[None, None, []] for _ in range(self.n_codes(feature) if kind == 2 else 2)]
                    tree += node[2]
                    below += [(tree, child) for child in node[2]]
            level = below
        assert next(nodes, None) is None and next(thresholds, None) is None
        leaves = [node for tree in self.trees for node in tree if not node[2]]
        self.number = {id(node): i for i, node in enumerate(leaves)}
        self.values = {
            n: array(file[n]) for n in ("labels", "noisy_counts", "leaf_values", "class_of_tree") if n in file
        }

    def n_codes(self, f):
        feature = self.features[f]
        return 65_536 if feature["kind"] == "numeric" else len(feature["categories"]) + (feature["missing"] == "own")

    def leaf(self, tree, codes):
        node = tree[0]
        while node[2]:
            (_, kind), x = node[0], codes[node[0][0]]
            node = node[2][x if kind == 2 else int(x > node[1]) if kind == 0 else int(x == node[1])]
        return self.number[id(node)]

    def shares_of_leaf(self, leaf):
        counts = self.values["noisy_counts"][leaf].tolist()
        known = [float(max(c, 0)) for c in counts]
        if sum(known) == 0 or self.file["negative_rule"] == "paper" and min(counts) < 0:
            known = [-math.log1p(-uniform(self.file["seed"], leaf * self.k + c)) for c in range(self.k)]
        return [x / sum(known) for x in known]

    def frequencies(self):
        counts = (self.values["noisy_counts"] / self.file.get("count_unit", 1)).tolist()
        least = max(1, self.file["log_odds"]["noise_scale"] * math.sqrt(2 * len(counts)))
        sums = [max(sum(column), least) for column in zip(*counts)]
        return [s / sum(sums) for s in sums]

    def evidence_of_leaf(self, leaf):
        known = [max(c, 0) / self.file.get("count_unit", 1) for c in self.values["noisy_counts"][leaf].tolist()]
        weight, p = self.file["log_odds"]["prior_weight"], self.frequencies()
        shares = [(z + weight * q) / (sum(known) + weight) for z, q in zip(known, p)]
        return [math.log(max(s, 1e-4)) - math.log(q) for s, q in zip(shares, p)]

    def predict(self, row):
        """Return (leaves, class, shares) of a row, which has one cell for each feature."""
        codes = [code(f, v) for f, v in zip(self.features, row)]
        leaves = [self.leaf(tree, codes) for tree in self.trees]
        scores, voting = [0.0] * self.k, self.file["voting"]
        for t, leaf in enumerate(leaves):
            if voting == "additive":
                expected, value = int(self.values["class_of_tree"][t]), float(self.values["leaf_values"][leaf])
                scores[expected] += value
                scores[0] -= value if self.k == 2 else 0
            elif voting == "clipped-logistic":
                values = self.values["leaf_values"][leaf].tolist()
                values = [-values[0], *values] if self.k == 2 else values
                scores = [a + b for a, b in zip(scores, values)]
            elif voting == "majority":
                shares = self.shares_of_leaf(leaf) if "noisy_counts" in self.values else None
                scores[int(self.values["labels"][leaf]) if shares is None else shares.index(max(shares))] += 1
            elif voting == "log-odds":
                scores = [a + b for a, b in zip(scores, self.evidence_of_leaf(leaf))]
            else:
                scores = [a + b for a, b in zip(scores, self.shares_of_leaf(leaf))]
        if voting == "clipped-logistic" and self.k == 2:
            share = 1 / (1 + 2 / (1 + math.exp(abs(scores[1]))))
            shares = [1 - share, share] if scores[1] >= 0 else [share, 1 - share]
            return leaves, self.file["domain"]["classes"][int(scores[1] > 0)], shares
        if voting in ("log-odds", "clipped-logistic"):
            if voting == "log-odds":
                factor = min(2 / len(leaves), 1)
                scores = [math.log(p) + factor * s for p, s in zip(self.frequencies(), scores)]
            exps = [math.exp(s) for s in scores]
            return leaves, self.file["domain"]["classes"][scores.index(max(scores))], [e / sum(exps) for e in exps]
        best = scores.index(max(scores))
        shares = self.linked(scores, best) if voting == "additive" else [s / len(leaves) for s in scores]
        if voting == "probabilistic":
            weights = [mixed(j * 0x9E3779B97F4A7C15 % M) for j in range(1, len(codes) + 1)]
            coin = uniform(self.file["seed"], sum(c * w for c, w in zip(codes, weights)) % M)
            best = sum(sum(shares[: c + 1]) <= coin for c in range(self.k - 1))
        return leaves, self.file["domain"]["classes"][best], shares

    def linked(self, scores, best):
        alpha, shares = self.file["alpha_link"], []
        for c, z in enumerate(scores):
            b = max(abs(z) / 2 - (1 - alpha), 0)
            psi = (1 + (math.copysign(b, z) / math.sqrt(b * b + alpha * alpha) if z else 0)) / 2
            shares.append((1 - 2e-9) * psi + 1e-9 * (0.5 + math.asinh(2.0**60 * z) / 200) + 1e-9 * (c == best))
        return [share / sum(shares) for share in shares]
