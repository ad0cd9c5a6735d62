"""Proof of an approval in any clone: notes on blobs, ranges, and the reason behind a line.

`document` is the in-toto statement in its envelope, `attest` says what an approval states about files,
`notes` writes it into the repository and mends what a loss of power damaged, `exchange` and `sync` bring
it to others. `verify_range` looks for an approved chain for every changed path; `why` explains one line.

Start with `verify_range`. It reads history without running anything of the clone, and opens no ledger
there.
"""
