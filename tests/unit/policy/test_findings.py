"""Secrets and hidden characters in added lines: what is found, what is left alone, and how fast."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.policy.findings import findings
from ringi.policy.risk_level import RiskCode
from ringi.policy.scripts import CODES
from tests.tables import each

LETTERS = string.ascii_letters + string.digits
_SEEDED = random.Random(3)


def noise(size: int, letters: str = LETTERS) -> str:
    return "".join(_SEEDED.choice(letters) for _ in range(size))


def found(text: str | bytes) -> list[str]:
    raw = text.encode() if isinstance(text, str) else text
    return [reason.subject for reason in findings(list(enumerate(raw.split(b"\n"), 1)))]


BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
GENERIC = "a password or another secret"
# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    ("a private key", "-----BEGIN " + "RSA PRIVATE KEY-----\n" + BASE64),
    ("a private key", '"-----BEGIN ' + "PRIVATE KEY-----\\n" + BASE64),
    ("a private key", "-----BEGIN " + "OPENSSH PRIVATE KEY-----\r\n" + BASE64),
    (
        "a private key",
        "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,7A\n\n" + BASE64,
    ),
    ("a private key", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n\n" + BASE64),
    ("a private key", "AGE-SECRET-" + "KEY-1" + noise(58, string.ascii_uppercase + string.digits)),
    ("an AWS key", "AKIA" + "Q3EGRX7LZ2MNB4TY"),
    ("a GitHub token", "ghp" + "_" + noise(36)),
    ("a GitHub token", "ghs" + "_" + noise(36)),
    ("a GitHub token", "github" + "_pat_" + noise(22) + "_" + noise(59)),
    ("a GitLab token", "glpat" + "-" + noise(20)),
    ("a Slack token", "xoxb" + "-" + noise(12, string.digits) + "-" + noise(24)),
    ("a Slack webhook", "https://hooks.slack.com/" + "services/T0AB1CD2E/B0AB1CD2E/" + noise(24)),
    ("a Stripe key", "sk_" + "live_" + noise(24)),
    ("an Anthropic key", "sk-" + "ant-api03-" + noise(80)),
    ("an OpenAI key", "sk-" + "proj-" + noise(48)),
    ("an OpenAI key", "sk-" + noise(48)),
    ("a Google key", "AIza" + noise(35)),
    ("an npm token", "npm" + "_" + noise(36)),
    ("a PyPI token", "pypi-" + "AgEIcHlwaS5vcmc" + noise(80)),
    ("a Hugging Face token", "hf" + "_" + noise(34, string.ascii_letters)),
    ("a JSON web token", "eyJ" + noise(30) + ".eyJ" + noise(60) + "." + noise(43)),
    ("a password in an address", "postgres://app:" + "s3cr7Xvq9" + "@db.internal:5432/app"),
    (GENERIC, "pass" + 'word = "kX9vQ2mPz7"'),
    (GENERIC, "DB_PASS" + "WORD: 'kX9vQ2mPz7'"),
    (GENERIC, "api_" + 'key: str = "kX9vQ2mPz7kX9"'),
    (GENERIC, '{"client_' + 'secret": "9f8e7d' + '6c5b4a3f2e1d0c"}'),
    (GENERIC, "const authTo" + "ken = `kX9vQ2mPz7kX9`;"),
    (GENERIC, "  aws_secret_access_" + "key = wJalrXUtnF3MI7K8DENGbPxRfiCYq91zKd02Lmno"),
    (GENERIC, "export DEPLOY_TO" + "KEN=" + "kX9vQ2mPz7kX9vQ2mPz7"),
    (GENERIC, "conf['pass" + "word'] = 'kX9vQ2mPz7'"),
]  # fmt: skip


@pytest.mark.req("PT-7")
@each(("kind", "text"), SECRETS)
def test_secrets(kind: str, text: str):
    assert found(f"x\n\n{text}\ny") == [f"{kind} in line 3"]
    assert found(f"url={text} ")


@pytest.mark.req("PT-7")
@each("text", [text for _, text in SECRETS])
def test_a_secret_is_never_repeated(text: str):
    value = text.rsplit(maxsplit=1)[-1]
    for reason in findings([(7, line) for line in text.encode().split(b"\n")]):
        assert reason.code is RiskCode.SECRET
        assert not any(value[at : at + 6] in reason.subject for at in range(len(value) - 5))


@pytest.mark.req("PT-7")
@each(
    "line",
    [
        'password = "changeme1"',
        'password = "<your-password-1>"',
        'password = "${DB_PASSWORD_1}"',
        'password = "{{ vault_pass1 }}"',
        'password = os.environ["PASSWORD1"]',
        'password = os.environ.get("DB_PASSWORD", "")',
        "password: process.env.PASSWORD1",
        'password = getpass("Password 1: ")',
        'password = "password123"',
        'PASSWORD = "%(password1)s"',
        'password: "must have 8 characters"',
        'token = "xxxxxxxxxxxxxxx1"',
        'token = "1111111111111111"',
        'token_url = "https://id.internal/oauth2/v1/x9"',
        'token_type = "bearer2bearer"',
        'next_token = "eyJOZXh0VG9rZW4iOiBudWxsfQ"',
        'token == "kX9vQ2mPz7kX9"',
        "token = self.next_token_2()",
        "token = sha256_of_the_content_v2",
        'secret_name = "projects/9/x1y2z3"',
        'secret = "a" * 32',
        'api_key = f"{prefix}9f8e7d6c"',
        'api_key = "test-9f8e7d6c5b"',
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "ghp_" + "1234567890abcdef1234567890abcdef1234",
        "task-" + "a" * 40 + " disk-abcdefgh-ijklmnop-qrstuvwx",
        "sk-learn-some-very-long-class-name-in-a-style-sheet-of-ours",
        'if line == "-----BEGIN ' + 'PRIVATE KEY-----":',
        "-----BEGIN CERTIFICATE-----\n" + BASE64,
        "-----BEGIN " + "PUBLIC KEY-----\n" + BASE64,
        "postgres://user:password@localhost/db",
        "https://user:${TOKEN}@host/",
        "http://localhost:8000/a@b",
        "eyJ" + "hbGciOiJIUzI1NiJ9",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        '"integrity": "sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        "key = get_key()",
        'cache_key = "v2:user:9f8e7d"',
        'primary_key="id9f8e7d6c"',
    ],
)  # fmt: skip
def test_what_is_no_secret(line: str):
    assert found(line) == []


TURNED = "a character that turns the direction of writing"
UNSEEN = "an invisible character"
VARIANT = "an out of place variation selector"
TAG = "an invisible tag character"
CONTROL = "a control character"
SCOTLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f"


@pytest.mark.req("PT-7")
@each(
    ("line", "kind"),
    [
        ("x = 1 # \u202e } \u2066", TURNED),
        ("\u2067א\u2069", TURNED),
        ("abc\u200edef", TURNED),
        ("abc\u200fdef", TURNED),
        ("pass\u200bword", UNSEEN),
        ("pass\u200cword", UNSEEN),
        ("pass\u200dword", UNSEEN),
        ("a\u2060b", UNSEEN),
        ("a\ufeffb", UNSEEN),
        ("a\u00adb", UNSEEN),
        ("a\u3164 = 1", UNSEEN),
        ("a\uffa0 = 1", UNSEEN),
        ("a\u115f = 1", UNSEEN),
        ("a\u2800b", UNSEEN),
        ("a\u180eb", UNSEEN),
        ("a\u2063b", UNSEEN),
        ("ن\u200c\u200d\u200c", UNSEEN),
        ("\U0001f600" + "\ufe00\ufe01\ufe02", VARIANT),
        ("\U0001f600" + "\U000e0101\U000e0143", VARIANT),
        ("a\ufe0f", VARIANT),
        ("x\U000e0100 = 4", VARIANT),
        ("hello" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey"), TAG),
        ("\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "rm -rf") + "\U000e007f", TAG),
        ("a\x1b[2Kb", CONTROL),
        ("a\x08b", CONTROL),
        ("a\0b", CONTROL),
        ("a\x7fb", CONTROL),
        ("a\x0bb", CONTROL),
        ("a\x9b2Kb", CONTROL),
        ("a\x85b", CONTROL),
        ("a\u2028b", CONTROL),
        ("evil()\rfine()", "a carriage return inside a line"),
    ],
)
def test_hidden_characters(line: str, kind: str):
    assert found(f"x\n{line}\ny") == [f"{kind} in line 2"]
    (reason,) = findings([(41, line.encode() + b"\r\n")])
    assert (reason.code, reason.subject) == (RiskCode.HIDDEN_CHARACTERS, f"{kind} in line 41")


@pytest.mark.req("PT-7")
@each(
    "text",
    [
        "plain\ttext\r\nwith CRLF\r\nat the end\r",
        "\f\nclass X:",
        "\ufeff# a byte order mark where files begin",
        "\U0001f469\u200d\U0001f4bb \U0001f468\u200d\U0001f469\u200d\U0001f467",  # families, professions
        "\U0001f3f3\ufe0f\u200d\U0001f308",  # rainbow flag
        "\U0001f9d1\U0001f3fd\u200d\U0001f680",  # with a tone of skin
        "\U0001f642\u200d\u2194\ufe0f",  # shaking its head
        "\u2764\ufe0f \u2714\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3 \u00a9\ufe0f \u203c\ufe0f",
        SCOTLAND,
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "क्\u200dष श्री\u200cमान",  # Hindi
        "ന്\u200d",  # Malayalam
        "ภาษา\u200bไทย",  # Thai
        "שלום\u200f! (abc\u200e)",  # Hebrew
        "葛\U000e0100城市",  # ideographic variants
        "\u2229\ufe00",
        "\u2800\u2800\u28ff\u28b8",  # braille drawings
        "Ünïcödé e\u0301 日本語、全角\u3000空白 non\u00a0breaking 한국어 \u2013 \u2026 \ue0a0",
    ],
)
def test_what_scripts_and_emoji_need(text: str):
    assert found(text) == []


@each("encoding", ["shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "latin-1", "cp1251"])
def test_other_encodings_are_no_finding(encoding: str):
    text = {
        "latin-1": "Çà et là, l'été, \u00c2\u0085 \u00c2\u00ad naïve garçon déjà vu",
        "cp1251": "Привет, мир: съешь же ещё этих мягких булок",
        "euc_kr": "파이썬은 강력한 프로그래밍 언어입니다",
        "gb18030": "派森语言是一种功能强大而完善的通用型计算机程序设计语言",
        "big5": "如何在程式中使用既有的函式庫",
    }.get(encoding, "この文書は日本語で書かれています。ソースコード、テスト")
    assert found(text.encode(encoding)) == []


def test_a_byte_order_mark_belongs_to_the_first_line_only():
    mark = "\ufeffx".encode()
    assert findings([(1, mark)]) == ()
    assert len(findings([(2, mark)])) == 1
    assert len(findings([(1, b"x"), (2, mark)])) == 1


def test_numbers_are_those_of_the_file_and_not_all_are_named():
    lines = [(number, b"a\x1bb") for number in (90, 3, 5, 5, 8, 40, 77)]
    assert [reason.subject for reason in findings(lines[:1])] == ["a control character in line 90"]
    assert [reason.subject for reason in findings(lines[1:5])] == ["a control character in lines 3, 5, 8"]
    (reason,) = findings(lines)
    assert reason.subject == "a control character in lines 3, 5, 8, 40, 77, …"


def test_lines_may_come_with_or_without_their_ends():
    secret = SECRETS[7][1].encode()
    for end in (b"", b"\n", b"\r\n", b"\r"):
        assert [reason.subject for reason in findings([(1, b"x" + end), (2, secret + end), (3, b"")])] == [
            "a GitHub token in line 2"
        ]
    assert findings([]) == findings([(1, b"")]) == findings([(1, b"\r\n"), (2, b"\n")]) == ()


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_judged(lines: list[bytes]):
    for reason in findings(list(enumerate(lines, 1))):
        assert reason.code in {RiskCode.SECRET, RiskCode.HIDDEN_CHARACTERS, *CODES.values()}
        assert " in line" in reason.subject


@each(
    "piece",
    [
        b"    value = compute(first, second) + other[index]  # words in a line\n",
        "日本語の文章、全角の記号。\n".encode(),
        b"eyJ" * 20 + b".",
        b"eyJabcdefghijklmn",
        b"-----BEGIN " + b"PRIVATE KEY-----",
        b"ghp_sk-AKIAxoxb-AIza",
        b'token="',
        b"secret = ",
        b"://a:b",
        "\U0001f469\u200d\U0001f4bb".encode(),
        "א\u200f".encode(),
        b"\x1b",
    ],
)
def test_time_is_linear_in_the_text(piece: bytes):
    size = 400_000
    text = (piece * (size // len(piece) + 1))[:size]
    result = findings([(number, line) for number, line in enumerate(text.split(b"\n"), 1)])
    assert len(result) <= 2
