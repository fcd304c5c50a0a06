"""`python -m symgrad` is the `symgrad` command."""

from .cli import main

if __name__ == "__main__":
    main()
