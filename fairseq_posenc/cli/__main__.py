import sys

from fairseq_posenc.cli import main

if __name__ == "__main__":
    sys.exit(main())
