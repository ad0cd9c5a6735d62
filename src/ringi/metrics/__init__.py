"""The figures of chapter 16 of the planning process, from what is recorded.

`measure` reads the ledger once, `tasks` and `people` order what it says, `figures` computes each figure with
what it is computed from, `code` and `coverage` look at what was generated, `view` and `page` show them.

Start with `measure`. It asks nobody and starts nothing.
"""
