"""Which files a request is about."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.project.context import FileKind
from tests.tables import each
from tests.unit.project.projects import SHOP, ranked

WORDS = st.text(alphabet=st.characters(codec="utf-8"), max_size=300)
SAID = st.sampled_from(["total price", "invoice", "`send`", "basket.py", "ValueError", "the", "shop/mail.py"])
REQUESTS = st.lists(SAID | WORDS, max_size=6).map(" ".join)


def paths(request: str, files: dict[str, str | bytes] | None = None) -> list[str]:
    return [found.path for found in ranked(files or SHOP, request)]


@pytest.mark.req("PP-1")
def test_the_file_with_the_words_comes_first():
    best = ranked(SHOP, "the total price of a basket is wrong")[0]
    assert (best.path, best.kind, best.score) == ("shop/basket.py", FileKind.SOURCE, 1.0)
    assert best.definitions[0].name == "Basket.total_price"
    assert best.lines == (5, 6)
    assert best.tests == ("tests/test_basket.py",)


def test_an_error_text_leads_to_where_it_is_raised():
    assert paths("it says: ValueError: cannot bill an empty basket")[0] == "shop/invoice.py"


def test_a_traceback_leads_to_its_files():
    text = 'Traceback:\n  File "/home/me/lib/shop/mail.py", line 2, in send\n    print(basket)\nTypeError\n'
    best = ranked(SHOP, text)[0]
    assert best.path == "shop/mail.py"
    assert "in the traceback" in [str(why) for why in best.why]


@each(
    ("said", "path"),
    [
        ("add an install section to README.md", "README.md"),
        ("see shop/mail.py for the basket total price", "shop/mail.py"),
        ("see `mail.py` for the basket total price", "shop/mail.py"),
        (r"see shop\mail.py for the basket total price", "shop/mail.py"),
        ("https://example.org/blob/main/shop/mail.py#L1 is wrong in the basket total price", "shop/mail.py"),
        ("usage.md: basket total price", "docs/usage.md"),
    ],
)
def test_a_file_that_is_named_comes_first(said: str, path: str):
    best = ranked(SHOP, said)[0]
    assert best.path == path
    assert "the request names it" in [str(why) for why in best.why]


@given(st.sampled_from(sorted(SHOP)), REQUESTS)
def test_whatever_else_is_said_a_path_comes_first(path: str, said: str):
    found = [one.path for one in ranked(SHOP, f"{path}\n{said}")]
    named = [other for other in SHOP if other in f"{path}\n{said}" or other.rpartition("/")[2] in said]
    assert path in found[: len(named)]


@given(REQUESTS, st.integers(1, 1000))
def test_the_order_of_the_files_does_not_matter(said: str, seed: int):
    assert ranked(SHOP, said) == ranked(SHOP, said, shuffled=seed)


@given(REQUESTS)
def test_scores_fall_and_files_come_once(said: str):
    found = ranked(SHOP, said)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert len({one.path for one in found}) == len(found)
    assert not scores or scores[0] == 1.0


def test_nothing_fits_nothing():
    assert ranked(SHOP, "") == ranked(SHOP, "zzz qqq") == ranked({}, "basket") == []


@each(
    "said",
    [
        r"(((([[[**+?\\ (?P<a>x)*+ total price \1 {0} %s {words}",
        "total\0price\0" * 10,
        "\u202etotal price\u202c \u2066x\u2069",
        "\ud800 total price",
        "total price " * 90_000,
        "a/" * 300_000 + "total price",
        "at " * 200_000 + "total price",
        "<!--" * 100_000 + "--> total price",
        "`" * 100_000 + "total price",
        ". " * 300_000 + "total price",
        "=" * 500_000 + "\ntotal price",
    ],
)
def test_hostile_requests_are_read_in_time(said: str):
    """Time is counted in the processor's seconds: the machine may be busy."""
    start = time.process_time()
    found = paths(said)
    assert time.process_time() - start < 10
    assert found[:1] == ["shop/basket.py"]


def test_a_japanese_request_finds_its_words():
    files = {"a.py": "# 請求書を作る\ndef make(): ...\n", "b.py": "# 電話を掛ける\ndef make(): ...\n"}
    assert paths("請求書の合計がおかしい", files)[0] == "a.py"


def test_documents_come_up_if_they_are_asked_for():
    files = SHOP | {"shop/guide.py": "def send_invoice_by_mail(): ...\n"}
    assert paths("send an invoice by mail", files)[0] == "shop/guide.py"
    assert paths("docs: say how to send an invoice by mail", files)[0] == "docs/usage.md"


def test_reasons_are_sentences_with_the_words_of_the_request():
    best = ranked(SHOP, "shop/basket.py: total_price ignores discounts")[0]
    said = [str(why) for why in best.why]
    assert said[:2] == ["the request names it", "it defines Basket.total_price"]
    assert best.tests == ("tests/test_basket.py",)


def test_a_definition_that_is_named_comes_before_one_that_talks_about_it():
    text = "def caller():\n" + "    price(price, price)\n" * 9 + "\n\ndef price():\n    return 1\n"
    assert ranked({"a.py": text}, "price is wrong")[0].definitions[0].name == "price"


def test_a_file_says_which_words_of_the_first_line_it_has():
    files = {"a.py": "def call_text():\n    pass\n", "b.py": "text = call()\n"}
    found = {one.path: one.has for one in ranked(files, "rename call_text to log_text\n\nIt calls the text.")}
    assert found == {"a.py": ("call_text",), "b.py": ()}
