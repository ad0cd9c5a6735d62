"""One request, proof, grant and verdict for every kind of subject.

To add a kind that people approve: name it in `SubjectKind`, say in `kinds.py` which bytes it binds and which
events give and refuse it, store its documents in a module of `store/` that `ledger.py` includes, and append a
migration. Requests, proofs, cover, `ringi verify` and the approvals table then serve it too.
"""
