"""What goes into a log: no secret stays in it, and nothing else is changed."""

import json
import random
import re
import string
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config.keys import DEFAULTS, Logs
from ringi.kernel.pattern_matcher import spans
from ringi.models.configured import mask_of
from ringi.policy.findings import findings
from ringi.policy.masking import Find, hiding, mask_secrets, masks_in, without_secrets
from tests.tables import each

pytestmark = pytest.mark.req("PP-17")

LETTERS = string.ascii_letters + string.digits
_SEEDED = random.Random(7)


def noise(size: int, letters: str = LETTERS) -> str:
    return "".join(_SEEDED.choice(letters) for _ in range(size - 1)) + "7"


PEM = "\n".join(noise(64) for _ in range(12))
ESCAPED = PEM.replace("\n", "\\n")
# Put together here, so that no scanner takes this file for a leak. What follows the bar is secret.
SECRETS = [
    "ghp" + f"|_{noise(36)}",
    "ghs" + f"|_{noise(255)}",
    "ghu" + f"|_{noise(400)}",
    "github" + f"|_pat_{noise(22)}_{noise(59)}",
    "glpat" + f"|-{noise(20)}",
    "xoxb" + f"|-{noise(12, string.digits)}-{noise(24)}",
    "xapp" + f"|-1-{noise(30)}",
    "https://hooks.slack.com/" + f"services/|T0AB1CD2E/B0AB1CD2E/{noise(24)}",
    "sk_" + f"live_|{noise(24)}",
    "sk-" + f"ant-|api03-{noise(80)}",
    "sk-" + f"proj-|{noise(48)}",
    "sk-" + f"|{noise(48)}",
    "AIza" + f"|{noise(35)}",
    "AKIA" + "|Q3EGRX7LZ2MNB4TY",
    "GOCSPX" + f"|-{noise(28)}",
    "npm" + f"|_{noise(36)}",
    "pypi-" + f"AgE|IcHlwaS5vcmc{noise(80)}",
    "hf" + "|_" + noise(34, string.ascii_letters)[:-1] + "Q",
    "dckr" + f"_pat_|{noise(27)}",
    "dop_v1" + f"_|{noise(64, '0123456789abcdef')}",
    "shpat" + f"_|{noise(32, '0123456789abcdef')}",
    "hvs" + f".|{noise(24)}",
    "SG" + f".|{noise(22)}.{noise(43)}",
    "AccountKey" + f"=|{noise(86)}==",
    "AGE-SECRET-" + "KEY-1|" + noise(58, string.ascii_uppercase),
    "eyJ" + f"|{noise(30)}.eyJ{noise(60)}.{noise(43)}",
    "-----BEGIN " + f"RSA PRIVATE KEY-----\n|{PEM}|\n-----END RSA PRIVATE KEY-----",
    '{"key": "-----BEGIN ' + f"PRIVATE KEY-----\\n|{ESCAPED}|\\n-----END PRIVATE KEY-----",
    "-----BEGIN " + f"OPENSSH PRIVATE KEY-----\n|{PEM}",
    "PuTTY-User-Key-File-" + f"3: ssh-rsa\nEncryption: none\nPublic-Lines: 6\n|{PEM}|\nPrivate-MAC: 0",
    "postgres://app:" + "|s3cr7Xvq9|@db.internal:5432/app",
    "postgres://app:" + "|barcelona|@db.internal:5432/app",
    "https://|" + noise(40, "0123456789abcdef") + "|@git.internal/x.git",
    "pass" + 'word = "|kX9vQ2mPz7|"',
    "pass" + 'word = "|barcelona1999|"',
    "DB_PASS" + "WORD: |kX9.vQ2-mPz7",
    "PGPASS" + "WORD=|kX9vQ2mPz7&!| psql",
    "pass" + "word=|あいうえ9おか",
    "mysql --pass" + "word |kX9vQ2mPz7",
    r"{\"client_" + r"secret\": \"|9f8e7d6c5b4a3f2e1d0c|\"}",
    "{'api_" + "key': '|kX9vQ2mPz7kX9|'}",
    "const authTo" + "ken = `|kX9vQ2mPz7kX9|`;",
    "aws_secret_access_" + "key = |wJalrXUtnF3MI7K8DENGbPxRfiCYq91zKd02Lmno",
    "pass" + "word: |" + noise(600),
    "Authorization: Bearer |" + noise(43) + "_-~",
    "Authorization: Bearer |" + noise(9000),
    "authorization: Basic |" + "dXNlcjpwYXNzd29yZHNvbg==",
    "Proxy-Authorization: |" + noise(30),
    "{'Authorization': 'Bearer |" + noise(20) + "|'}",
    r"{\"authorization\": \"Bearer |" + noise(20) + r"|\"}",
    "(b'Authorization', b'Bearer |" + noise(20) + "|')",
    "curl -H 'x-api-key: |" + noise(20) + "|' https://api.internal",
    "X-Goog-Api-Key: |" + noise(39),
    "PRIVATE-TOKEN: |" + noise(20),
    "the answer to Bearer |" + noise(20),
    "GET /v1/models?key=|" + noise(39) + "|&alt=json",
    "https://h.internal/x?a=b&token=|" + noise(10) + "|#top",
    "https://h.internal/x?api_key=|" + noise(10),
    "https://h.internal/x#access_token=|" + noise(10) + "|&state=1",
    "https://s3.internal/x?X-Amz-Signature=|" + noise(64, "0123456789abcdef"),
    "Cookie: |sid=" + noise(20) + "; theme=" + noise(6),
    "set-cookie: |sid=" + noise(20) + "|; Path=/",
    "パスワード: |" + noise(12),
    "管理者のパスワードは「|" + noise(12) + "|」です",
    "トークン\uff1a|" + noise(12),
]


def cut(planted: str) -> tuple[str, str]:
    before, secret, *after = planted.split("|")
    return before + secret + "".join(after), secret


@each("planted", SECRETS)
@each("around", ["{}", "x {}\ny", "ログ\t{}\r\n続き", "a\ud800 {}\n", "\x00{} é", "\x1b[1;32m{}\x1b[0m é"])
def test_a_planted_secret_of_every_shape_is_gone(planted: str, around: str):
    text, secret = cut(planted)
    found = mask_secrets(around.format(text))
    assert "(masked: a" in found
    assert not any(secret[at : at + 6] in found for at in range(len(secret) - 5))
    assert mask_secrets(found) == found
    head, _, tail = around.partition("{}")
    assert found.startswith(head)
    assert found.endswith(tail)


@each("planted", SECRETS)
def test_what_a_plan_is_warned_of_is_never_left_in_a_log(planted: str):
    text = mask_secrets(cut(planted)[0])
    assert findings(list(enumerate(text.encode().split(b"\n"), 1))) == ()


def test_the_rest_stays_byte_for_byte():
    token = "ghp" + "_" + noise(36)
    assert mask_secrets(f"push to https://{token}@github.com/x/y\r\n\ttwice: {token}.\n") == (
        "push to https://(masked: a GitHub token)@github.com/x/y\r\n\ttwice: (masked: a GitHub token).\n"
    )
    header = f"Authorization: Bearer {noise(20)}\nAccept: */*"
    assert mask_secrets(header) == "Authorization: Bearer (masked: a key in a header)\nAccept: */*"
    key = "-----BEGIN " + f"RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----\nok"
    assert mask_secrets(key) == "(masked: a private key)-----END RSA PRIVATE KEY-----\nok"


@each("body", ["MIIEvQ==\n" * 3, "AAAA" * 12 + "\n", f"{noise(12)}\n" * 4, "QUJD\\n" * 8])
def test_a_key_of_short_or_repeated_lines_is_masked_too(body: str):
    key = "-----BEGIN " + f"EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\nok"
    assert mask_secrets(key) == "(masked: a private key)-----END EC PRIVATE KEY-----\nok"


def test_marks_without_a_key_between_them_stay():
    marks = "-----BEGIN " + "PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----"
    assert mask_secrets(marks) == marks


# A placeholder says that there is no secret, and hiding it would hide a mistake.
@each(
    "line",
    [
        'password = "changeme1"',
        "password: your-password-here-1",
        'password = "<your-password-1>"',
        'password = "${DB_PASSWORD_1}"',
        'password = os.environ["PASSWORD1"]',
        "password: process.env.PASSWORD1",
        'token = "xxxxxxxxxxxxxxx1"',
        "token = self.next_token_2()",
        "token=config.auth.token2",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN1",
        "Authorization: Bearer YOUR_API_KEY",
        "Keep the Authorization: header, and the api-key: it is needed",
        "x-api-key: {key}",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "postgres://user:password@localhost/db",
        "postgres://user:{password}@localhost/db",
        "https://h.internal/x?key=value&page=abc",
        "https://h.internal/a:b@c",
        "output_tokens=4096, max_tokens: 4096, token 12 of 30",
        "The bearer of good news is authorization-free.",
        "パスワード: 8文字以上",
        "パスワードは8文字以上とする。トークンが切れたら再発行する",
        "Cookie: it is kept for 30 days",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        "(masked: a GitHub token) (masked: whatever)",
    ],
)
def test_what_is_no_secret_stays(line: str):
    assert mask_secrets(line) == line


NAMES = ("passw", "passphrase", "pwd", "secret", "token", "key", "authorization")
WORDS = st.lists(
    st.sampled_from(
        [
            *(cut(planted)[0] for planted in SECRETS),
            *(cut(planted)[0][:-3] for planted in SECRETS),
            "token=",
            "password: ",
            "Authorization: ",
            "Bearer ",
            "?key=",
            '"',
            "'",
            "\\",
            " ",
            "\n",
            ".",
            "-----BEGIN PRIVATE KEY-----",
            "-----",
            "(masked: a key)",
            "a1b2c3d4",
            "é漢",
        ]
    ),
    max_size=8,
)


@given(WORDS.map("".join))
def test_masking_twice_is_masking_once(text: str):
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@given(st.text(alphabet=st.characters(exclude_categories=["Nd"]), max_size=200))
def test_a_text_without_digits_or_shapes_is_its_own_mask(text: str):
    if "://" not in text and not any(name in text.lower() for name in NAMES):
        assert mask_secrets(text) == text


# What the configuration names


def finding(*expressions: str) -> Find:
    """In this process, where nothing is cut off."""
    patterns = [re.compile(expression) for expression in expressions]
    return lambda text: spans(text, patterns)


def test_nothing_gets_through_where_the_patterns_have_no_answer():
    found = mask_secrets("PIN 4711", lambda _: None)
    assert found == "(masked: all of it, because a pattern of logs.mask took too long)"
    assert mask_secrets(found) == found


def test_configured_expressions_mask_their_group_or_all_they_match():
    patterns = finding(r"case (\d+)", r"EMP-\w+")
    assert mask_secrets("case 4711 of EMP-a9, case x", patterns) == (
        "case (masked: a configured secret) of (masked: a configured secret), case x"
    )
    optional = finding(r"id(=\d+)?")
    assert mask_secrets("id and id=5", optional) == "id and id(masked: a configured secret)"


def test_what_an_expression_cuts_of_a_token_does_not_uncover_the_rest():
    token = noise(36)
    found = mask_secrets(f"x {'ghp' + '_'}{token} y", finding("gh._.{3}"))
    assert found == "x (masked: a GitHub token) y"
    found = mask_secrets(f"key={'ghp' + '_'}{token} pin", finding(r"key=\S+ (\w+)"))
    assert found == "key=(masked: a GitHub token) (masked: a configured secret)"


@pytest.mark.parametrize("expression", ["masked", "a", r"\w+", r"\S+", ".+", "k.*", r"\)", "(s)e"])
@given(st.text(alphabet="akes )x\n", max_size=30))
def test_marks_are_never_masked_again(expression: str, text: str):
    patterns = finding(expression)
    once = mask_secrets(text + "(masked: a key) " + text, patterns)
    assert "(masked: a key)" in once
    assert mask_secrets(once, patterns) == once


def test_an_expression_sees_one_line_and_of_a_long_one_all_of_it():
    assert mask_secrets("a\nb", finding(r"a\s+b")) == "a\nb"
    for at in range(0, 5000, 370):
        line = "-" * at + "PIN:48151623" + "-" * (5000 - at)
        assert "48151623" not in mask_secrets(line, finding(r"PIN:\d+"))


def test_a_slow_expression_is_slow_in_its_window_only():
    assert mask_secrets("a" * 100_000, finding("a*b")) == "a" * 100_000


# Known values


def test_known_values_go_wherever_they_stand_and_however_escaped():
    key = 'kX9/"v&Q2 漢'
    text = f"{key}; {json.dumps({'k': key})}; ?k={quote(key, safe='')}; kX9"
    assert hiding([key])(text) == ('(masked: a key); {"k": "(masked: a key)"}; ?k=(masked: a key); kX9')
    assert hiding(["abcdefgh", "abcdefghi"])("abcdefgh abcdefghi") == "(masked: a key) (masked: a key)"
    assert hiding(["x", "", "none"])("none of it") == "none of it"


ANY = st.characters(exclude_categories=())  # a variable may hold bytes that are no text


@given(st.text(ANY, min_size=8, max_size=12), st.text(max_size=20), st.text(max_size=20))
def test_a_known_value_never_survives(value: str, before: str, after: str):
    hide = hiding([value])
    found = hide(before + value + after)
    assert value not in found.replace("(masked: a key)", "\x00")
    assert hide(found) == found


# Time


@each(
    "unit",
    ["the quick brown fox\n", "a", "\n", "token=", "api_key=", 'password: "', "://a:",
     "-----BEGIN PRIVATE KEY-----\n", "eyJ", "sk-", "authorization: ", "bearer ",
     "--token ", "cookie: a=", "cookie: a=bcdefg1;", "パスワードは", "password====", "=", "-", "\\", "あ"],
)  # fmt: skip
def test_it_takes_time_in_proportion_to_the_text(unit: str):
    text = unit * (1_000_000 // len(unit))
    assert mask_secrets(text)


@pytest.mark.req("PP-17")
@each("first", "rbufx")
def test_no_letter_of_a_value_stays(first: str):
    assert mask_secrets(f"password={first}8jzK3nq9XwT2") == "password=(masked: a password or another secret)"


CASES = {
    "password=": "hunter2 correcthorse secret123 letmein1 P@ss!word 123456",
    "token: ": "abc123 abcdef 9f8e7d6c",
    "secret=": "s3cr3t swordfish",
    "api_key=": "abc123 1234567890 ABCDEF",
    "Authorization: Bearer ": "abc123 abcdef dXNlcg==",
    "Authorization: Basic ": "dXNlcjpwYXNz",
    "my password is ": "hunter2 swordfish Tr0ub4dor&3",
    "The API key is: ": "ABC-123",
    "the token for root was ": "abcdef",
    "Password for root: ": "toor",
    '"password": "': "letmein",
    "password = 'correct horse ": "battery",
    "mysql --password ": "hunter2",
}


@each(("name", "value"), [(name, value) for name, values in CASES.items() for value in values.split()])
@each("case", [str, str.upper, str.title])
def test_the_specifications_own_cases_lose_the_value_and_keep_the_word(name: str, value: str, case):
    quote = {'"': '"', "'": "'"}.get(next((sign for sign in name[::-1] if sign in "\"'"), ""), "")
    for end in ("", "\n", ", then go on", " and more"):
        text = f"log: {case(name)}{value}{quote}{end}"
        found = mask_secrets(text)
        assert value not in found
        word = re.split("correct", case(name), flags=re.IGNORECASE)[0]
        assert found.startswith(f"log: {word}")
        assert found.endswith(end)
        assert mask_secrets(found) == found


def test_a_bad_password_is_one_too():
    assert mask_secrets("password=secret") == "password=(masked: a password or another secret)"


@each(
    "line",
    [
        "the password is required and must be set",
        "my token is expired",
        "password: must be 8 characters or more",
        "def login(user: str, password: str, token: Optional[str] = None):",
        "login(user, password=password, token=auth_token)",
        "token = request.headers",
        "password: ********",
        "secret: true",
    ],
)
def test_prose_and_code_about_secrets_stay(line: str):
    assert mask_secrets(line) == line


@given(
    st.sampled_from(["password=", "token: ", "secret=", "api_key=", "my password is "]),
    st.text(string.ascii_lowercase, min_size=4, max_size=12),
    st.text(string.digits, min_size=2, max_size=6),
)
def test_every_value_with_letters_and_digits_goes(name: str, letters: str, digits: str):
    assert letters + digits not in mask_secrets(f"{name}{letters}{digits}")


@each("name", ["password", "token", "secret", "api_key", "API-KEY", "passwd"])
def test_a_configured_name_masks_the_value_and_not_the_word(name: str):
    config = msgspec.structs.replace(DEFAULTS, logs=Logs(mask=(name, r"EMP-\d+")))
    mask = mask_of(config, {})
    assert mask(f"the {name} and EMP-17; {name}=swordfish") == (
        f"the {name} and (masked: a configured secret); {name}=(masked: a password or another secret)"
    )


def test_headers_and_addresses_are_findings_too():
    value = noise(32)
    for line in (
        f"Authorization: Bearer {value}",
        f"x-api-key: {value}",
        f"https://h/x?access_token={value}",
    ):
        assert findings([(1, line.encode())])


@pytest.mark.req("PP-15")
def test_a_command_of_a_model_gets_no_variable_with_a_secret():
    given = {
        "PATH": "/bin",
        "GOPATH": "/go",
        "MY_API_KEY": "x",
        "DB_PASSWORD": "x",
        "https_proxy": "http://u:p@h",
    }
    assert without_secrets(given) == {"PATH": "/bin", "GOPATH": "/go"}


@pytest.mark.req("PP-15")
def test_marks_are_counted():
    text = "a = 'ghp_" + "A1b2C3d4" * 4 + "e5F6'\n"
    assert [masks_in(text), masks_in(mask_secrets(text)), masks_in(mask_secrets(text * 3))] == [0, 1, 3]
