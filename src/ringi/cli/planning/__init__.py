"""Planning sessions at the command line: a dialogue for people, single steps and files for scripts."""
