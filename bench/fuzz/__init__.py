"""A fuzz of everything that reads: `python -m bench fuzz` mutates valid models and valid input of every kind.

Whatever the bytes, a model is refused by an error that names its file, or used without harm; and a reader gives a
corpus or an error of ours.

    models.py   valid models of every kind        run.py    children, watchdog, limit of memory, counts
    mutate.py   ways to change them               text.py   readers of data, templates and tables
    use.py      everything that a model is for    command.py
    cases.py    case = f(seed, number)            checked.py   kernels with every index checked
"""

from bench.fuzz.checked import check_indices

check_indices()
