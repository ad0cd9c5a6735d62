"""Differences between texts: parsed, applied, rendered, reversed, merged and repaired. Bytes in, bytes out.

`parse` reads patches strictly, `apply` applies them without fuzz, `render` writes unified diffs, `repair`
makes a model's patch exact if its text is in the file, `merge` merges three versions. `patch.Patch` is
the data they share.

Start with `patch` and `parse`. This package reads no file, starts no process and knows no plan.
"""
