"""python -m softground.cli"""

from softground.cli import app

app()
