"""`python -m tests.model.telling` is the command `cosched` whose services record the proposals of groups, too.

They keep them from users' stories otherwise.
"""

import sys

from cosched.cli.main import main
from cosched.core.story import What
from cosched.service.domain import story
from cosched.v1 import domain_pb2 as wire

PROPOSALS = {What.PROPOSES_TO_GROUP, What.DROPS_PROPOSAL}
NOT_TOLD = story.NOT_TOLD - PROPOSALS
KINDS = dict.fromkeys(PROPOSALS, wire.EVENT_KIND_UNKNOWN)
COMMAND = (sys.executable, "-m", "tests.model.telling")

if __name__ == "__main__":
    story.NOT_TOLD = NOT_TOLD
    story.KINDS.update(KINDS)
    main()
