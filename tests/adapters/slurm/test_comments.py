"""Mates in the comments of Slurm jobs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.protocol import Named, Window, named_group, named_mate
from cosched.validation.group_names import wrong_group_name
from cosched_adapters.slurm.comments import (
    MARK,
    MAX_COMMENT,
    MAX_NAME,
    CommentError,
    add,
    add_adoptable,
    find,
    is_adoptable,
    remove,
    word,
)

SPANS = st.integers(-600_000, 600_000)
WINDOWS = st.lists(st.tuples(SPANS, SPANS).map(sorted).map(tuple).filter(lambda span: span != (0, 0)), max_size=2)
NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=MAX_NAME)
DOMAINS = st.from_regex(r"\A[A-Za-z0-9_.-]{1,64}\Z")
PAIRS = st.from_regex(r"\A[A-Za-z0-9_.:,+=@/-]{1,128}\Z")
MATES = (
    st.builds(named_mate, st.just("") | DOMAINS, PAIRS, or_alone=st.booleans())
    | st.builds(named_mate, DOMAINS, mate=NAMES, or_alone=st.booleans())
    | st.builds(
        lambda name, others, or_alone: named_group(name, tuple(sorted(others)), or_alone),
        PAIRS.filter(lambda name: not wrong_group_name(name)),
        st.sets(DOMAINS, min_size=2, max_size=4),
        st.booleans(),
    )
    | st.builds(
        lambda others, windows, at: _started(sorted(others), windows, at),
        st.sets(DOMAINS, min_size=2, max_size=4),
        WINDOWS,
        st.integers(0, 4_000_000_000),
    )
)
BLANKS = st.text(" \t\n\v\f\r", min_size=1, max_size=3)
# What a command line can carry: with bytes that are no UTF-8, as Python reads them.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("\udc80\udcff")).filter(
    lambda text: MARK not in text
)


def _started(others: list[str], windows: list[tuple[int, int]], at: int) -> Named:
    """A group with these windows of its first domains, and this instant."""
    apart = tuple(Window(domain, *window) for domain, window in zip(others, windows, strict=False))
    return named_group("run7", tuple(others), windows=apart, at=at)


@given(MATES, TEXTS, TEXTS, BLANKS, BLANKS)
def test_a_mate_is_found_anywhere_as_a_word_of_its_own(
    named: Named, before: str, after: str, one: str, two: str
) -> None:
    assert find(f"{before}{one}{word(named)}{two}{after}") == named


def test_a_group_of_one_other_domain_is_a_pair_and_a_larger_one_names_all_others() -> None:
    assert find("words cosched:group=a@b@eureka") == named_mate("eureka", "a@b")
    assert find("cosched:group=run7@polaris+mira x") == named_group("run7", ("mira", "polaris"))
    assert find("cosched:group=17@mira") == named_mate("mira", "17")


def test_a_group_says_when_it_starts() -> None:
    named = find("cosched:at=2026-11-23T18:00Z cosched:group=run7@mira x cosched:window=mira:0..10m cosched:or-alone")
    assert named == named_group("run7", ("mira",), True, (Window("mira", 0, 600),), 1_795_456_800)
    assert find("cosched:group=run7@mira cosched:window=mira:0..0") == named_mate("mira", "run7")


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("cosched:pair=a cosched:at=2026-11-23T18:00", "which need cosched:group=NAME@DOMAIN+DOMAIN"),
        ("cosched:mate=mira/5 cosched:window=mira:5m", "which need cosched:group=NAME@DOMAIN+DOMAIN"),
        ("cosched:at=2026-11-23T18:00", "the comment has cosched:at=2026-11-23T18:00, which has no effect without"),
        ("cosched:group=a@mira cosched:at=18:00", "'18:00' is not an instant such as 2026-11-23T18:00"),
        ("cosched:group=a@mira cosched:window=5m", "'5m' is not DOMAIN:FROM..TO, such as mira:0..10m"),
        ("cosched:group=a@mira cosched:window=mira:soon", "'soon' is not a duration such as 90, 20m, 12h or 3d"),
        ("cosched:group=a@b cosched:window=b:1 cosched:window=b:2", "two cosched:at=, or two cosched:window= of one"),
    ],
)
def test_a_start_that_cannot_be_is_refused_and_said_why(comment: str, why: str) -> None:
    with pytest.raises(CommentError) as refused:
        find(comment)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        ("run7@", "domain 1 is missing: name the domains of the other members"),
        ("run7@mira+", "domain 2 is not a domain name"),
        ("run7@mira+polaris+mira", "domain 3 is named twice: a group has one job on each domain"),
        ("17@mira+polaris", "a name that ends in a number alone is taken for a job"),
        ("r!@mira+polaris", "the name of a group is 1 to 128 of"),
        ("run7@" + "+".join(f"d{n}" for n in range(16)), "domain 16 is one too many: a group has at most 16 members"),
    ],
)
def test_a_group_that_cannot_be_is_refused_and_said_why(group: str, why: str) -> None:
    with pytest.raises(CommentError) as refused:
        find(f"cosched:group={group}")
    assert str(refused.value).startswith(f"the comment has no cosched:group=NAME@DOMAIN+DOMAIN: {why}")


@given(MATES, TEXTS)
def test_a_mate_that_is_added_is_found_and_the_text_kept(named: Named, text: str) -> None:
    try:
        comment = add(text, named)
    except CommentError as error:
        assert "too long" in str(error)  # noqa: PT017
        assert len(f"{text} {word(named)}".encode("utf-8", "surrogateescape")) > MAX_COMMENT - 2
    else:
        assert comment.startswith(text)
        assert find(comment) == named
        assert MARK not in remove(comment)


@given(st.text(st.characters(exclude_categories=[])))
def test_any_comment_is_read_or_refused_in_one_printable_line(comment: str) -> None:
    for text in (
        comment,
        f"{MARK}{comment}",
        f"{MARK}pair={comment}",
        f"{MARK}mate={comment}",
        f"{MARK}group={comment}",
    ):
        try:
            find(text)
        except CommentError as error:
            assert str(error).isprintable()  # noqa: PT017


@pytest.mark.parametrize("comment", ["", "words", "xcosched:pair=p", "a,cosched:pair=p", "Cosched:pair=p", "cosched"])
def test_a_comment_without_a_word_for_us_names_no_mate(comment: str) -> None:
    assert find(comment) is None


@pytest.mark.parametrize(
    "comment",
    [
        "cosched:", "cosched:pair", "cosched:pair=", f"cosched:pair={'x' * 129}", "cosched:pair=a\x01",
        "cosched:pair=\udcff", "cosched:Pair=a", "cosched:mate=eureka", "cosched:mate=eureka/", "cosched:mate=/5",
        "cosched:mate=eur:eka/5", f"cosched:mate={'x' * 65}/5", "cosched:group=a", "cosched:group=a@",
        "cosched:group=@eureka", "cosched:group=a@eure/ka", "cosched:group=a@eureka+eureka",
        "cosched:pair=a cosched:pair=a", "cosched:pair=a\ncosched:mate=eureka/5", "cosched:or-alone",
        "cosched:or-alone pair=a", "cosched:pair=a cosched:or-alon", "cosched:pair=a cosched:or_alone",
        "cosched:pair=a cosched:or-alone=yes", "cosched:pair=a cosched:or-alone cosched:pair=b",
    ],
)  # fmt: skip
def test_words_that_cannot_be_used_are_refused(comment: str) -> None:
    with pytest.raises(CommentError, match=r"^the comment has .*cosched:"):
        find(comment)


def test_a_text_that_no_command_can_be_given_is_refused() -> None:
    with pytest.raises(CommentError, match="not valid text"):
        add("\ud800", named_mate("", "b"))


def test_a_mate_that_is_named_already_is_not_added_again() -> None:
    assert add("words cosched:pair=a", named_mate("", "a")) == "words cosched:pair=a"


def test_a_job_may_start_alone_if_a_word_beside_its_mate_says_so() -> None:
    for comment in ("cosched:mate=eureka/5 cosched:or-alone", "cosched:or-alone x\tcosched:mate=eureka/5 y"):
        assert find(comment) == named_mate("eureka", mate="5", or_alone=True)
    assert find("cosched:mate=eureka/5 or-alone xcosched:or-alone") == named_mate("eureka", mate="5")
    assert remove("mine cosched:mate=eureka/5 cosched:or-alone") == "mine"


def test_no_second_mate_is_added_nor_that_a_job_may_start_alone_which_is_kept() -> None:
    either = "cosched:pair=a cosched:or-alone"
    assert add(either, named_mate("", "a")) == add(either, named_mate("", "a", or_alone=True)) == either
    with pytest.raises(CommentError, match="already"):
        add("cosched:pair=a", named_mate("", "a", or_alone=True))


def test_a_job_that_names_nobody_says_that_it_may_be_adopted() -> None:
    assert find("mine cosched:adoptable") is None
    assert is_adoptable("mine cosched:adoptable")
    assert not is_adoptable("adoptable xcosched:adoptable cosched:pair=a")
    assert add_adoptable("") == add_adoptable("cosched:adoptable") == "cosched:adoptable"
    assert add_adoptable("mine") == "mine cosched:adoptable"
    adopted = add("mine cosched:adoptable", named_mate("eureka", mate="5"))
    assert find(adopted) == named_mate("eureka", mate="5")
    assert remove(adopted) == "mine", "who unlinks it takes that back"
    with pytest.raises(CommentError, match="names a mate, and cosched:adoptable is for a job that names nobody"):
        add_adoptable("cosched:pair=a")
    with pytest.raises(CommentError, match="too long"):
        add_adoptable("x" * 1024)


@pytest.mark.parametrize(
    "named",
    [*(named_mate("", pair) for pair in ("", "a b", "a!", "ä")), *(named_mate(peer, mate="5") for peer in ("a b", ""))],
)
def test_a_mate_that_no_comment_can_carry_is_refused(named: Named) -> None:
    with pytest.raises(CommentError):
        add("text", named)
