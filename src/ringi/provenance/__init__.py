"""Proof of an approval in any clone: notes on blobs, ranges, and the reason behind a line.

`notes` writes signed statements into the repository and rebuilds what a loss of power damaged, `exchange`
brings them to others, `clone` opens any clone for verifying. `verify_range` looks for an approved chain for
every changed path; `chain`, `commits`, `envelope` and `replay` judge its links. `why` explains one line.

Start with `verify_range`. It reads history without running anything of the clone, and opens no ledger
there.
"""
