"""One module for each command, by its name; `ringi.cli.main` lists them."""
