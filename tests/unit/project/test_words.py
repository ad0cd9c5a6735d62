"""Which words requests and files share."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.project.request import Names, Naming, read_request
from ringi.project.words import count_terms, terms_of
from tests.tables import each


@each(
    ("one", "other"),
    [
        ("parsing", "parsed"),
        ("requests", "request"),
        ("total_price", "price"),
        ("HTTPServer", "server"),
        ("renderInvoice", "invoice"),
        ("請求書を送信する", "請求書"),
        ("README.mdに節を追加", "readme"),
        ("größe_prüfen", "prüfen"),
    ],
)
def test_words_that_meet(one: str, other: str):
    assert count_terms(one).keys() & count_terms(other).keys()


def test_words_that_say_nothing():
    assert count_terms("the self import " + "x" * 1000 + " 123 a") == {}


@given(st.text(max_size=500))
def test_any_text_has_terms_that_find_it(text: str):
    assert all(term and count > 0 for term, count in count_terms(text).items())
    assert set(terms_of(text)) == set(terms_of(text))


MACHINE = """\
The basket is wrong.

<!-- please describe
the widget -->
INSTALLED VERSIONS
python: 3.8
numpy: 1.2
OS: Linux
machine: x86_64
zlib: None

setuptools 41.6.0
gadget==1.2.3
platform linux -- plugins
"""


@each("ends", ["\n", "\r\n", "\r"])
def test_what_is_pasted_about_the_machine_does_not_count(ends: str):
    terms = read_request(MACHINE.replace("\n", ends)).terms
    assert {"basket", "wrong"} <= terms.keys()
    assert not {"widget", "numpy", "linux", "zlib", "setuptool", "gadget"} & terms.keys()


def test_a_few_facts_count():
    assert "numpy" in read_request("It fails.\nnumpy: 1.2\nIt must not.").terms


def test_what_is_in_backticks_counts_more():
    terms = read_request("the `basket` of things").terms
    assert terms["basket"] > terms["thing"]


def test_a_request_without_end_is_read_at_both_ends():
    terms = read_request("first " + "filler " * 500_000 + " last").terms
    assert {"first", "last"} <= terms.keys()


FILES = (
    "src/shop/mail.py",
    "src/shop/__init__.py",
    "lib/mail.py",
    "docs/mail.md",
    "Makefile",
    "a b.py",
    "README.md",
    "docs/README.md",
    "run",
)


@each(
    ("said", "expected"),
    [
        ("src/shop/mail.py", {"src/shop/mail.py": Naming.PATH}),
        ("./src/shop/mail.py.", {"src/shop/mail.py": Naming.PATH}),
        ("/home/me/src/shop/mail.py:12", {"src/shop/mail.py": Naming.PATH}),
        ("(shop/mail.py)", {"src/shop/mail.py": Naming.PATH}),
        ("mail.py", {"src/shop/mail.py": Naming.PART, "lib/mail.py": Naming.PART}),
        ("mail.md", {"docs/mail.md": Naming.PATH}),
        ("README.md", {"README.md": Naming.PATH, "docs/README.md": Naming.PART}),
        ("docs/README.md", {"docs/README.md": Naming.PATH}),
        ("elsewhere/README.md", {}),
        ("the Makefile", {"Makefile": Naming.PATH}),
        ("a b.py", {"a b.py": Naming.PATH}),
        ("run it by mail", {}),
        ("other/place/mail.py", {}),
        ("shop.mail.send", {"src/shop/mail.py": Naming.PART}),
        ("import shop.mail", {"src/shop/mail.py": Naming.PART}),
        ('  File "/x/shop/mail.py", line 3, in send', {"src/shop/mail.py": Naming.TRACEBACK}),
        ("src/shop/mail.py:3: in send", {"src/shop/mail.py": Naming.TRACEBACK}),
        ("    at send (/app/lib/mail.py:3:9)", {"lib/mail.py": Naming.TRACEBACK}),
        ("", {}),
    ],
)
def test_names(said: str, expected: dict[str, Naming]):
    assert Names(FILES).find_named(said) == expected
