import pytest

from ringi.domain.run import StepState
from ringi.views.run import changed


@pytest.mark.req("RN-12")
@pytest.mark.parametrize(
    ("files", "lines", "words"),
    [(1, 1, "1 file, 1 line"), (1, 2, "1 file, 2 lines"), (3, 12, "3 files, 12 lines")],
)
def test_one_line_is_no_lines(files: int, lines: int, words: str):
    assert str(changed(StepState(step_id="S01", files=files, lines=lines))) == words
