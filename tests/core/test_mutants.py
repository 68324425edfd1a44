"""The rules that `make mutants` switches off are where it looks for them."""

import ast

import pytest

from tests.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_the_text_of_each_rule_stands_in_its_file_once_and_the_mistake_is_code(mutant: Mutant) -> None:
    ast.parse(mutant.text())
    assert all((ROOT / test).exists() for test in mutant.tests.split())
