"""Figures of chapter 10."""

from style import Data, Figure, figure, heat


@figure("alignment", width=7.4, height=3.7)
def alignment(data: Data, fig: Figure) -> None:
    panels = fig.subplots(1, 2)
    for axes, run, label in zip(panels, ("main", "grammar"), ("toy", "grammar"), strict=True):
        weights = data.array("unseen_cross", run=run)
        heat(
            axes,
            weights,
            rows=data.value("unseen_said", run=run).split(),
            columns=data.value("unseen_source", run=run).split(),
            numbers="{:.2f}",
            low=0,
            high=1,
            top=True,
        )
        axes.set_xlabel(f"trained on the {label}")
    panels[0].set_ylabel("word said")


@figure("cost", width=7.2, height=3.2)
def cost(data: Data, fig: Figure) -> None:
    words = data.array("words", run="cost")
    counted, timed = fig.subplots(1, 2)
    for axes, name, label in (
        (counted, "multiply_adds", "multiply-adds in the decoder"),
        (timed, "milliseconds", "time / ms"),
    ):
        plain, cached = data.array(name, run="cost")
        axes.loglog(words, plain, marker="o", label="without cache")
        axes.loglog(words, cached, marker="s", linestyle="--", label="with cache")
        axes.set_xticks(words, [str(n) for n in words])
        axes.minorticks_off()
        axes.set_xlabel("words of the translation")
        axes.set_ylabel(label)
        axes.grid()
    counted.legend()
