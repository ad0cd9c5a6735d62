"""Approvals: one request, proof, grant and verdict for every kind of subject.

`document` says what exactly a person approves and how it is proven; `kinds` has one entry for each kind of
subject and fixes what is asked, `proof` checks a typed answer, a signature or a review, `cover`
answers "is it approved?", `grant` has standing approvals, `signers` whose signatures count.

Start with `kinds` and `cover`. Only a person approves: nothing here may give an approval by itself, and what
is carried out afterwards is not this package's business.
"""
