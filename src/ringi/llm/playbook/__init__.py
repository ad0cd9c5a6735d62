"""The built-in default, which plans without a model, in English and Japanese."""

from ringi.llm.playbook.playbook import Playbook

__all__ = ["Playbook"]
