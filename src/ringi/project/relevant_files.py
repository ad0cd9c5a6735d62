"""Which files of a project a request is about: words and definitions in an index, and a ranking."""

from ringi.project.corpus import Corpus
from ringi.project.index import MOST_TEXT, Index, IndexedContent
from ringi.project.ranking import Ranked, rank

__all__ = ["MOST_TEXT", "Corpus", "Index", "IndexedContent", "Ranked", "rank"]
