"""What a plan's text says to do: every form that is understood, and everything that is listed instead."""

from textwrap import dedent

import pytest

from ringi.kernel.codec import decode_foreign, pretty
from ringi.patch.parse import parse_patch
from ringi.plans.extract import Extraction, Unplaced, extract
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.tables import each

pytestmark = pytest.mark.req("PT-14")

BODY = "x = 1\n"
BLOCK = "```python\nx = 1\n```\n"


def brief(spec: ActionSpec) -> tuple[str, ...]:
    return spec.kind.value, spec.path


def told(text: str) -> list[tuple[str, ...]]:
    found = extract(text)
    assert found.unplaced == ()
    return [brief(spec) for spec in found.specs]


def reasons(text: str) -> list[tuple[int, str]]:
    """Nothing may be made of the text."""
    found = extract(text)
    assert found.specs == ()
    return [(item.line, item.why) for item in found.unplaced]


@each(
    "info",
    [
        "python src/a.py",
        "python   src/a.py  ",
        'python title="src/a.py"',
        "python title='src/a.py'",
        "python title=src/a.py",
        'py linenums="1" title="src/a.py" hl_lines="2 3"',
        "python:src/a.py",
        "src/a.py",
        "./src/a.py",
        "{.python filename=src/a.py}",
        '{.python .numbered filename="src/a.py"}',
        'python {file="src/a.py"}',
        "python {1,3-5} src/a.py",
        "python // src/a.py",
        "python # src/a.py",
        "python `src/a.py`".replace("`", "'"),
        'python "src/a.py"',
    ],
)
def test_path_in_the_info_string(info: str):
    found = extract(f"```{info}\nx = 1\n```\n")
    assert found == Extraction((ActionSpec(SpecKind.WRITE, "src/a.py", BODY),), ())


@each(
    ("above", "kind", "path"),
    [
        ("`src/a.py`", "write", "src/a.py"),
        ("**src/a.py**", "write", "src/a.py"),
        ("**`src/a.py`**", "write", "src/a.py"),
        ("### src/a.py", "write", "src/a.py"),
        ("### `src/a.py`", "write", "src/a.py"),
        ("#### 2. `src/a.py`", "write", "src/a.py"),
        ("File: src/a.py", "write", "src/a.py"),
        ("**File:** `src/a.py`", "write", "src/a.py"),
        ("**File: `src/a.py`**", "write", "src/a.py"),
        ("- src/a.py:", "write", "src/a.py"),
        ("* ./src/a.py", "write", "src/a.py"),
        ("src/a.py", "write", "src/a.py"),
        ("### src/new.py", "write", "src/new.py"),
        ("scripts/run.py", "write", "scripts/run.py"),
        ('"src/a.py"', "write", "src/a.py"),
        (".gitignore", "write", ".gitignore"),
        ("Makefile:", "write", "Makefile"),
        ("src/__init__.py", "write", "src/__init__.py"),
        ("Create `src/a.py`:", "create", "src/a.py"),
        ("Create src/a.py:", "create", "src/a.py"),
        ("Create a new file `src/a.py`:", "create", "src/a.py"),
        ("New file: `src/a.py`", "create", "src/a.py"),
        ("**src/a.py** (new)", "create", "src/a.py"),
        ("- [ ] Create `src/a.py`", "create", "src/a.py"),
        ("`src/a.py` を作成:", "create", "src/a.py"),
        ("src/a.py を作成：", "create", "src/a.py"),  # noqa: RUF001
        ("`src/a.py` を新規作成します。", "create", "src/a.py"),
        ("`src/a.py` を更新します:", "write", "src/a.py"),
        ("ファイル名: `設計/計画.md`", "write", "設計/計画.md"),
        ("**ファイル：** 設計/計画.md", "write", "設計/計画.md"),  # noqa: RUF001
        ("Create `app/(auth)/[id]/page.tsx`:", "create", "app/(auth)/[id]/page.tsx"),
        ("Create `Procfile.dev`:", "create", "Procfile.dev"),
    ],
)
def test_path_on_the_line_above(above: str, kind: str, path: str):
    found = extract(f"Some words.\n\n{above}\n\n{BLOCK}")
    assert found.unplaced == ()
    (spec,) = found.specs
    assert (spec.kind.value, spec.path, spec.content) == (kind, path, BODY)


def test_only_a_line_that_names_its_path_says_that_it_is_new():
    found = extract("Add `a.toml`:\n```toml a.toml\nx = 1\n```\n\nAdd the settings:\n```toml b.toml\n```\n")
    assert [brief(spec) for spec in found.specs] == [("create", "a.toml"), ("write", "b.toml")]


@each(
    "text",
    [
        "",
        "Plain prose about src/a.py, nothing else.",
        "- Delete `src/a.py`",
        "- move a.py -> src/b.py",
        "- `mkdir -p src/new/deep`",
        "- `src/a.py` を削除",
        "- Run `npm test`",
        "- Create `src/a.py`",
        "> - Delete `src/a.py`",
        "Use ```inline code``` here",
    ],
)
def test_words_propose_nothing(text: str):
    assert extract(text) == Extraction((), ())


@each(
    ("text", "why"),
    [
        ("> ```python src/a.py\n> x\n> ```", "it stands in a quotation"),
        ("<!--\n```python src/a.py\nx\n```\n-->", "it stands in a comment"),
        ("```sh\nmake test\n```", "no path is named for it"),
        ("```console\n$ rm -rf build\n```", "no path is named for it"),
    ],
)
def test_blocks_that_propose_no_file_are_listed(text: str, why: str):
    assert [found for _, found in reasons(text)] == [why]


SENTENCE = "the line above it says more than its path"
NO_PATH = "no path is named for it"


@each(
    ("text", "why"),
    [
        (BLOCK, NO_PATH),
        (f"Like this:\n{BLOCK}", NO_PATH),
        (f"## Input/Output\n{BLOCK}", NO_PATH),
        (f"## Setup\n{BLOCK}", NO_PATH),
        (f"See https://example.org/a.py\n{BLOCK}", NO_PATH),
        (f"`https://example.org/a.py`\n{BLOCK}", NO_PATH),
        (f"`/etc/passwd`\n{BLOCK}", NO_PATH),
        (f"`~/a.py`\n{BLOCK}", NO_PATH),
        (f"`C:\\a.py`\n{BLOCK}", NO_PATH),
        (f"`src/<name>.py`\n{BLOCK}", NO_PATH),
        (f"`src/*.py`\n{BLOCK}", NO_PATH),
        (f"`foo()`\n{BLOCK}", NO_PATH),
        (f"`python a.py`\n{BLOCK}", NO_PATH),
        (f"### `parse_config`\n{BLOCK}", NO_PATH),
        (f"Add `validate`:\n{BLOCK}", NO_PATH),
        (f"Now run `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"Running `src/a.py` prints:\n{BLOCK}", SENTENCE),
        (f"Create `src/a.py` and `src/b.py`:\n{BLOCK}", SENTENCE),
        (f"Add this function to `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"In `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"This is similar to `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"- `src/a.py` is the parser\n\n{BLOCK}", SENTENCE),
        (f"| `src/a.py` | the parser |\n{BLOCK}", NO_PATH),
        (f"At the top of `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"`src/a.py` currently looks like this:\n{BLOCK}", SENTENCE),
        (f"Change the class in `src/a.py`:\n{BLOCK}", SENTENCE),
        (f"`src/a.py` に追加:\n{BLOCK}", SENTENCE),
        (f"Create `my notes/first draft.md`:\n{BLOCK}", NO_PATH),
        (f"File: `run`\n{BLOCK}", NO_PATH),
        (f"`src/a.py` の末尾:\n{BLOCK}", SENTENCE),
        ("```12:15:src/a.py\nx\n```", "it is a part of a file"),
        ("`src/a.py`\n```python:src/a.py:10-20\nx\n```", "it is a part of a file"),
        ("```python src/a.py#L3\nx\n```", "it is a part of a file"),
        ("```python src/a.py lines=1-3\nx\n```", "it is a part of a file"),
        ("```python src/a.py src/b.py\nx\n```", "more than one path is named: src/a.py, src/b.py"),
        ('```python title="A short example"\nx\n```', NO_PATH),
        ("```python 3.11\nx\n```", NO_PATH),
        ("```application/json\n{}\n```", NO_PATH),
        ("```dockerfile\nFROM x\n```", NO_PATH),
        ("```Dockerfile\nFROM x\n```", NO_PATH),
        ("```python src/a.py\n# ... existing code ...\nx\n```", "it leaves out parts of src/a.py"),
        ("```js src/a.js\n// ...rest of the file\n```", "it leaves out parts of src/a.js"),
        ("```js src/a.js\n// Rest of the code remains unchanged\n```", "it leaves out parts of src/a.js"),
        ("```html a.html\n<!-- existing markup… -->\n```", "it leaves out parts of a.html"),
        ("```python src/a.py\n    # （省略）\n```", "it leaves out parts of src/a.py"),  # noqa: RUF001
        ("```python src/a.py\n# ...既存のコード...\n```", "it leaves out parts of src/a.py"),
        ("```python src/a.py\nx = 1\n", "its fence is never closed"),
        ("````python src/a.py\nx = 1\n```\n", "its fence is never closed"),
        (
            "```markdown README.md\n# T\n```bash\nmake\n```\nMore.\n```\n",
            "a fence in it is as long as its own; make the outer fence longer",
        ),
        (
            "```python src/a.py\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```",
            "it holds a diff and is not marked as one",
        ),
        ("Create `README.md`:\n```sh\nmake\n```", "it may be commands or the file README.md"),
        ("Check `setup.sh` with:\n```sh\nshellcheck setup.sh\n```", SENTENCE),
        (f"### Step 2: Update `src/a.py`\n{BLOCK}", SENTENCE),
        (f"Replace the whole content of `src/a.py` with:\n{BLOCK}", SENTENCE),
        (f"新規ファイル `src/a.py`:\n{BLOCK}", SENTENCE),
        ("```bash\n#!/bin/bash\nmake\n```", NO_PATH),
    ],
)
def test_blocks_that_cannot_be_placed_are_listed(text: str, why: str):
    assert [found for _, found in reasons(text)] == [why]


def test_dots_that_are_code_stay():
    text = "```python src/a.py\nclass A: ...\n\n...\n# Wait for the other thread...\n# rest\n```\n"
    assert told(text) == [("write", "src/a.py")]


PATCH = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
GIT_PATCH = (
    "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"
    "diff --git a/c.txt b/d.txt\nsimilarity index 100%\nrename from c.txt\nrename to d.txt\n"
)


@each("info", ["diff", "patch", "", "Diff", "diff src/a.py", 'diff title="src/a.py"', "{.diff}"])
def test_a_diff_is_a_patch(info: str):
    found = extract(f"Change it:\n\n```{info}\n{PATCH}```\n")
    assert found == Extraction((ActionSpec(SpecKind.PATCH, "src/a.py", PATCH),), ())


def test_files_of_one_fence_are_a_group():
    one, two = f"```diff\n{GIT_PATCH}```\n", f"```\n{PATCH}{GIT_PATCH}```\n"
    found = extract(f"{one}\n```diff\n{PATCH}```\n{two}")
    assert found.unplaced == ()
    assert [(spec.path, spec.group) for spec in found.specs] == [
        *(("b.txt", "diff1"), ("d.txt", "diff1"), ("src/a.py", None)),
        *(("src/a.py", "diff21"), ("b.txt", "diff21"), ("d.txt", "diff21")),
    ]
    for spec in found.specs:
        assert parse_patch((spec.content or "").encode()).files[0].path == spec.path


def test_a_diff_in_a_list_keeps_its_blanks():
    patch = "--- a/a.md\n+++ b/a.md\n@@ -1,4 +1,4 @@\n ```sh\n-x\n+y\n ```\n \n"
    indented = "".join(f"   {line}\n" for line in f"```diff\n{patch}```".split("\n"))
    assert extract(f"1. Change:\n{indented}").specs == (ActionSpec(SpecKind.PATCH, "a.md", patch),)


@each(
    ("body", "why"),
    [
        ("", "its diff cannot be read: it is empty"),
        ("x\n", "its diff cannot be read: no file is named in it"),
        ("@@ -1 +1 @@\n-a\n+b\n", "its diff cannot be read: a hunk without a file"),
        ("Binary files a/x and b/x differ\n", "which is not text"),
        ('--- "a/\\377"\n+++ "b/\\377"\n@@ -1 +1 @@\n-a\n+b\n', "its diff names a file that is not UTF-8"),
    ],
)
def test_a_diff_that_cannot_be_read_is_listed(body: str, why: str):
    ((line, found),) = reasons(f"Words.\n\n```diff\n{body}```\n")
    assert line == 3
    assert why in found


def test_a_diff_for_another_file_is_listed():
    assert reasons(f"```diff src/b.py\n{PATCH}```") == [(1, "its fence names src/b.py and its diff does not")]


def test_a_diff_may_be_a_file():
    assert told(f"```diff fixes/a.patch\n{PATCH}```\n") == [("write", "fixes/a.patch")]


@each("above", ["`bin/run.sh`", "Create `bin/run`:", "### scripts/run.sh"])
def test_a_script_with_a_path_is_a_file(above: str):
    found = extract(f"{above}\n```bash\ncd x && make\n```\n```sh tools/x.py\nmake\n```\n")
    assert [spec.content for spec in found.specs] == ["cd x && make\n", "make\n"]
    assert found.unplaced == ()


def test_fences_within_fences_are_content():
    text = "````markdown README.md\n# T\n```sh\nmake\n```\n~~~\n````\n`b.py`\n~~~\n```\n~~~\n"
    found = extract(text)
    assert [(spec.path, spec.content) for spec in found.specs] == [
        ("README.md", "# T\n```sh\nmake\n```\n~~~\n"),
        ("b.py", "```\n"),
    ]


def test_a_broken_block_does_not_swallow_the_rest():
    text = "```md README.md\n```sh\nmake\n```\nx\n```\n\n```python src/a.py\nx = 1\n```\n"
    found = extract(text)
    assert [brief(spec) for spec in found.specs] == [("write", "src/a.py")]
    assert [item.line for item in found.unplaced] == [1]


def test_indentation_of_a_list_goes_and_that_of_the_code_stays():
    text = dedent(
        """\
        1. First:
           ```python src/a.py
           def f():
               return 1

           ```
        - ```python src/b.py
            if x:
              y
          ```
        \t```make src/c.mk
        \ta:
        \t\tb
        \t```
           ```python src/d.py
        def g():
            return 2
           ```
        """
    )
    assert [spec.content for spec in extract(text).specs] == [
        "def f():\n    return 1\n\n",
        "  if x:\n    y\n",
        "a:\n\tb\n",
        "def g():\n    return 2\n",
    ]


def test_line_ends_of_the_text_are_not_those_of_the_file():
    assert extract("`a.bat`\r\n```bat\r\necho\r\n\r\n```\r\n").specs[0].content == "echo\n\n"
    assert extract("`a.bat`\n```bat\necho\r\n\r\n```\n").specs[0].content == "echo\r\n\r\n"


def test_the_same_path_twice_is_kept_twice():
    assert told(f"`a.py`\n{BLOCK}`a.py`\n{BLOCK}") == [("write", "a.py"), ("write", "a.py")]


def test_what_is_listed_is_cut():
    opening = f"```python {'words ' * 100}"
    assert extract(f"{opening}\n```\n").unplaced == (Unplaced(1, opening[:200], NO_PATH),)


def test_half_a_character_is_no_text():
    found = extract("a\nb \ud800\n```python a.py\n```\n")
    assert found == Extraction(
        (), (Unplaced(2, "\\ud800\n```python a.py\n```", "it holds what is not text"),)
    )


ANSWER = """\
I'll add a greeting. Here's the plan:

## 1. Create the module

**`src/greet.py`** (new)

```python
def greet(name: str) -> str:
    return f"Hello, {name}"
```

## 2. Wire it up

Update `src/main.py`:

```python
from greet import greet

print(greet("you"))
```

## 3. Clean up

- Delete `src/hello.py`
- Rename `tests/test_hello.py` to `tests/test_greet.py`

## 4. Verify

Run the tests:

```bash
python -m pytest tests -q   # all of them
git diff --stat | cat
```

That should print:

```
3 passed
```
"""
JAPANESE_ANSWER = """\
以下の手順で変更します。

### 1. `src/挨拶.py` を新規作成

```python
print("こんにちは")
```

### 2. 不要なファイルの整理

1. `src/old.py` を削除
2. `docs/a.md` を `docs/b.md` に移動
3. `src/main.py` の `old` 関数を削除

### 3. 確認

```console
$ python src/挨拶.py
こんにちは
```
"""


def test_an_answer_in_english():
    found = extract(ANSWER)
    assert [brief(spec) for spec in found.specs] == [
        ("create", "src/greet.py"),
        ("write", "src/main.py"),
    ]
    assert [(item.line, item.text) for item in found.unplaced] == [(31, "```bash"), (38, "```")]


def test_an_answer_in_japanese():
    found = extract(JAPANESE_ANSWER)
    assert [brief(spec) for spec in found.specs] == [("create", "src/挨拶.py")]
    assert [(item.line, item.why) for item in found.unplaced] == [(17, NO_PATH)]


@each("text", [ANSWER, JAPANESE_ANSWER])
def test_the_line_that_is_listed_is_the_line_of_the_text(text: str):
    lines = text.split("\n")
    assert all(lines[item.line - 1] == item.text for item in extract(text).unplaced)


def test_the_document_can_be_written_and_read():
    found = extract(ANSWER)
    assert decode_foreign(pretty(found), Extraction, "extraction") == found
