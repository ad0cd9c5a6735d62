"""Which files of a project a request is about: words and definitions in an index, and a ranking."""

from ringi.project.corpus import Corpus
from ringi.project.index import MOST_TEXT, Content, Index
from ringi.project.ranking import Ranked, rank

__all__ = ["MOST_TEXT", "Content", "Corpus", "Index", "Ranked", "rank"]
