"""Tables on a terminal."""

from rich import box
from rich.table import Table as Screen

from unaligned.benchmark.columns import Table, show

__all__ = ["table_on_screen"]


def table_on_screen(table: Table, width: int) -> Screen:
    """Table for a terminal; some columns are left out of a narrow one."""
    screen = Screen(title=table.title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    kept = [i for i, c in enumerate(table.columns) if c.room <= width]
    for i in kept:
        column = table.columns[i]
        numeric = column.digits is not None
        justify = "right" if numeric else "left"
        screen.add_column(column.name, justify=justify, no_wrap=not numeric)  # type: ignore[arg-type]
    for row in table.rows:
        screen.add_row(*(show(table.columns[i], row[i]) for i in kept))
    return screen
