"""LightGBM, ONNX Runtime and Treelite in the environment that `peers.sh lightgbm` makes, for `bench/prediction.py`.

The program reads pickled commands on stdin and answers on stdout:

    {"do": "fit", "X": ..., "y": ..., "n_trees": 100, "depth": 10}    -> mean number of leaves of a tree
    {"do": "predict", "contender": "LightGBM", "X": ...}              -> seconds

LightGBM trains one model, and all three programs predict with this model on one thread. X has type float32.
"""

import time

import lightgbm
import numpy as np
import onnxruntime
import treelite
from onnxmltools.convert import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from peer_worker import serve

onnxruntime.set_default_logger_severity(3)  # hides a warning about the shape of an output that this program ignores


class Worker:
    def fit(self, X, y, n_trees, depth):
        """Train LightGBM's trees, as full as the depth allows, and convert them for ONNX Runtime and Treelite."""
        model = lightgbm.LGBMClassifier(
            n_estimators=n_trees, max_depth=depth, num_leaves=2**depth, min_child_samples=1, n_jobs=1, verbose=-1
        ).fit(X, y)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        types = [("X", FloatTensorType([None, X.shape[1]]))]
        as_onnx = convert_lightgbm(model, initial_types=types, target_opset=15, zipmap=False).SerializeToString()
        session = onnxruntime.InferenceSession(as_onnx, options, providers=["CPUExecutionProvider"])
        as_treelite = treelite.frontend.from_lightgbm(model.booster_)
        self.predictors = {
            "LightGBM": lambda X: model.booster_.predict(X, num_threads=1),
            "ONNX Runtime": lambda X: session.run(None, {"X": X})[1],
            "Treelite (GTIL)": lambda X: treelite.gtil.predict(as_treelite, X, nthread=1),
        }
        scores = [np.asarray(predict(X[:1000])).reshape(1000, -1)[:, -1] for predict in self.predictors.values()]
        assert all(np.allclose(scores[0], other, atol=1e-4) for other in scores), "the programs have different models"
        return float(np.mean([tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]]))

    def predict(self, contender, X):
        start = time.perf_counter()
        self.predictors[contender](X)
        return time.perf_counter() - start


if __name__ == "__main__":
    serve(Worker())
