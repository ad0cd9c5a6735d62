"""The figures of chapter 16 of the planning process, from what is recorded.

`measure` reads the ledger once. `tasks` and `people` order what it says, `code` and `coverage` look at what
was generated, `figures` is the table of all figures with how each is computed, `view` puts them into words.

Start with `figures`. Nothing here asks a model or starts a program.
"""
