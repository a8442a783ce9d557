"""`python -m softground`: the command line of the environment whose Python this is."""

from softground.cli import app

if __name__ == "__main__":
    app(prog_name="softground")
