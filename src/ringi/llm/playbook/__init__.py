"""The built-in default that plans without any model, in English and Japanese."""

from ringi.llm.playbook.playbook import Playbook

__all__ = ["Playbook"]
