"""Make the fixtures that the tests compare the book with: one file a component, by PyTorch.

    pip install -r tests/golden/requirements.txt
    python tests/golden/make_fixtures.py [COMPONENT ...]

A file holds some cases of one component (components.py). Names are CASE/KIND.NAME, where kind is

    input, ids, param    what goes in, in single precision, so that both precisions begin alike
    cotangent            the gradient of a loss with respect to the output, at random
    output, grad         what PyTorch makes of it in double precision
    output32, grad32     what PyTorch makes of it in single precision

and `grad` has the gradient of every input and every parameter. steps_SYSTEM.safetensors holds ten
steps of each optimizer: METHOD/loss [10] and METHOD/NAME, each parameter after the last one.
Made on the CPU, with one thread; the numbers are drawn from seeds.
"""

from __future__ import annotations

import json
import sys
import zlib
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import torch
from components import COMPONENTS, Component
from inputs import Sizes
from safetensors.torch import save_file
from torch import Tensor

HERE = Path(__file__).parent
LARGE = 20.0
CASES = {
    "odd": Sizes(),
    "single": Sizes(batch=1, length=1, keys=1, d_model=9, n_heads=1, d_ff=1, n_layers=1),
    "large": Sizes(batch=1, length=3, keys=5, d_model=9, n_heads=3, d_ff=7, n_layers=1),
}
STEPS, RATE, WARMUP = 10, 0.01, 4


def draw(component: Component, case: str, sizes: Sizes) -> tuple[dict, dict, dict]:
    """Inputs, parameters and ids of one case."""
    random = torch.Generator().manual_seed(zlib.crc32(f"{component.name}/{case}".encode()))

    def normal(shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=random)

    large = LARGE if case == "large" else 1.0
    inputs = {n: large * normal(shape) for n, shape in component.inputs(sizes).items()}
    parameters = {}
    for name, shape in component.parameters(sizes).items():
        parameters[name] = 0.5 * normal(shape)
        is_norm = "norm" in name or "norm" in component.name
        if is_norm and len(shape) == 1 and name.endswith("weight"):
            parameters[name] += 1
        # large scores, large logits
        if name.endswith(("w_q.weight", "q_proj.weight", "output.weight")):
            parameters[name] *= large
    return inputs, parameters, component.ids(sizes)


def evaluate(component: Component, case: str, sizes: Sizes, dtype: torch.dtype) -> dict:
    """Inputs, output and all gradients, computed in `dtype`."""
    inputs, parameters, ids = draw(component, case, sizes)

    def leaves(values: dict[str, Tensor]) -> dict[str, Tensor]:
        return {n: v.to(dtype).requires_grad_() for n, v in values.items()}

    x, p = leaves(inputs), leaves(parameters)
    ids = {n: v.long() if v.dtype != torch.bool else v for n, v in ids.items()}
    y = component.run(p, x, ids, sizes).to(dtype)
    found = {f"input.{n}": v for n, v in inputs.items()}
    found |= {f"param.{n}": v for n, v in parameters.items()}
    found |= {f"ids.{n}": v for n, v in ids.items()}
    found["output"] = y.detach()
    if y.requires_grad:
        random = torch.Generator().manual_seed(7)
        dy = torch.randn(y.shape, generator=random) if y.numel() > 1 else torch.ones(y.shape)
        found["cotangent"] = dy
        gradients = torch.autograd.grad(y, [*x.values(), *p.values()], dy.to(dtype))
        found |= {f"grad.{n}": g for n, g in zip([*x, *p], gradients, strict=True)}
    return found


def fixture(component: Component) -> tuple[dict, dict]:
    tensors = {}
    for case, sizes in CASES.items():
        exact = evaluate(component, case, sizes, torch.float64)
        single = evaluate(component, case, sizes, torch.float32)
        for name, value in exact.items():
            dtype = torch.float64 if name.split(".")[0] in ("output", "grad") else torch.float32
            tensors[f"{case}/{name}"] = value.to(dtype)
        for name in [n for n in exact if n.split(".")[0] in ("output", "grad")]:
            kind, _, rest = name.partition(".")
            tensors[f"{case}/{kind}32{'.' if rest else ''}{rest}"] = single[name]
    return tensors, {"cases": {case: asdict(sizes) for case, sizes in CASES.items()}}


# Ten steps ----------------------------------------------------------------------------------------


def optimizer(method: str, parameters: list[Tensor]) -> torch.optim.Optimizer:
    if method == "sgd":
        return torch.optim.SGD(parameters, lr=RATE, momentum=0.9)
    if method == "adam":
        return torch.optim.Adam(parameters, lr=RATE)
    return torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)


def ten_steps(component: Component, smoothed: bool, method: str) -> dict[str, Tensor]:
    """From the weights and the batch of the component's case `odd`."""
    _, parameters, ids = draw(component, "odd", CASES["odd"])
    p = {n: v.double().requires_grad_() for n, v in parameters.items()}
    moving, losses = optimizer(method, list(p.values())), []
    for step in range(1, STEPS + 1):
        ratio = step / WARMUP
        moving.param_groups[0]["lr"] = RATE * min(ratio, ratio**-0.5)
        loss = component.run(p, {"smoothing": smoothed}, ids, CASES["odd"])
        losses.append(loss.detach())
        moving.zero_grad()
        loss.backward()
        moving.step()
    return {"loss": torch.cat(losses)} | {n: v.detach() for n, v in p.items()}


def steps(component: Component) -> tuple[dict, dict]:
    tensors = {}
    for method in ("sgd", "adam", "adamw"):
        for smoothed in (False, True):
            name = f"{method}{'_smoothed' if smoothed else ''}"
            found = ten_steps(component, smoothed, method)
            tensors |= {f"{name}/{n}": v for n, v in found.items()}
    return tensors, {"steps": STEPS, "rate": RATE, "warmup": WARMUP}


def save(name: str, tensors: dict[str, Tensor], notes: dict) -> None:
    path = HERE / f"{name}.safetensors"
    notes = {"component": name, "made_by": f"PyTorch {torch.__version__.split('+')[0]}", **notes}
    metadata = {"notes": json.dumps(notes)}  # one entry: the writer's order of several is random
    save_file({n: v.contiguous().clone() for n, v in tensors.items()}, path, metadata)
    print(f"{path.name} {path.stat().st_size}")


def main() -> None:
    torch.set_num_threads(1)
    for component in COMPONENTS:
        system = component.name.removeprefix("loss_")
        if len(sys.argv) == 1 or component.name in sys.argv[1:]:
            save(component.name, *fixture(component))
        if system != component.name and (len(sys.argv) == 1 or f"steps_{system}" in sys.argv[1:]):
            save(f"steps_{system}", *steps(component))


if __name__ == "__main__":
    cli.run(main)
