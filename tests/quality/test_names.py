"""A name stands for one thing."""

import inspect
from collections import Counter
from importlib import import_module
from pkgutil import walk_packages

import app


def test_a_class_name_stands_for_one_class() -> None:
    modules = [import_module(module.name) for module in walk_packages(app.__path__, "app.")]
    classes = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    names = Counter(
        kind.__name__ for kind in classes if kind.__module__.startswith("app.") and "[" not in kind.__name__
    )
    assert len(names) > 500
    assert [name for name, count in names.items() if count > 1] == []
