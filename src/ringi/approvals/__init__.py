"""One request, proof, grant and verdict for every kind of subject."""
