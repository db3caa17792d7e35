"""`python -m crowdrank` is the command."""

from crowdrank.cli import main

if __name__ == "__main__":
    main()
