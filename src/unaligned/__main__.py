"""``python -m unaligned`` is the command ``unaligned``."""

from unaligned.cli import main

main()
