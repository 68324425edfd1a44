"""What compiled kernels depend on, so that a change of it compiles them anew (`cosched.compilation`)."""

import re
from pathlib import Path

from cosched.core import kernel


def test_kernels_are_made_of_kernels_and_of_job_states_only():
    sources = Path(kernel.__file__).parent.glob("*.py")
    imported = {name for source in sources for name in re.findall(r"from (cosched\S+) import", source.read_text())}
    assert {name for name in imported if not name.startswith("cosched.core.kernel.")} == {"cosched.core.job"}
