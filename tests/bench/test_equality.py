"""How far native steps are from those of XLA, and what is said of robots that stay with XLA."""

from softground.bench import equality
from softground.native import compiling
from softground.native.errors import NotNative


def test_native_steps_are_as_close_as_the_precision_allows():
    row = equality.measure(robots=("foot",), grounds=("sand",), states=200)["pairs"]["foot on sand"]
    assert row["float64_greatest"] < 1e-9
    assert row["float32_greatest"] < 1e-4
    assert max(row["float32_native_error"], row["float32_xla_error"]) < 1e-4
    assert row["float64_not_converged"] == row["float32_not_converged"] == 0


def test_what_stays_with_xla_is_named(monkeypatch):
    def refused(*_, **__):
        raise NotNative("no code for this")

    monkeypatch.setattr(compiling, "natively", refused)
    row = equality.measure(robots=("foot",), grounds=("foam",), states=3)["pairs"]["foot on foam"]
    assert "no code for this" in row["stays_with_xla"]
