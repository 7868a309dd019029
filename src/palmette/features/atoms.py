"""Word atoms by name: properties of one cell that templates can use, such as
its lower case or a suffix.

An atom makes a string of a string, or is absent: the attribute is then not
active. It works on Unicode characters, and is computed once per distinct string
of a column, not once per token.

Atoms are named in macros, `%x[0,0,suffix3]`, and can be chained,
`%x[0,0,lower.suffix3]`: the lower case first, then the suffix. Some take an
argument after a colon, `cluster:brown:4`; in a chain they come last.

    lower          lower case
    normal         digits become 0: B-52 -> B-00
    shape          X upper, x lower, 9 digit, c letter without case, others
                   stay: IL-2a -> XX-9x
    short_shape    the shape with runs collapsed: IL-2a -> X-9x
    skeleton       lower case, vowels become *: endings that differ by vowel
                   harmony are one: evlerinde -> *vl*r*nd*
    prefix1..5     the first characters as they are written; absent if the word
                   is shorter
    suffix1..9     the last characters
    capital        flag: begins with a capital
    allcaps        flag: capitals only, at least two
    digits         flag: has a digit
    hyphen         flag: has a hyphen or dash between letters or digits
    punctuation    flag: only punctuation and symbols
    greek          flag: a Greek letter as a character or by its name
    number         integer decimal percent ordinal fraction range money roman;
                   absent for others
    date           year decade day time month weekday (names in English); absent
                   for others
    length         1 2 3 4 5 6-7 8-10 11-15 16+
    orthography    one class for every word: lower initial acronym mixed number
                   hyphen_digits greek ...
    type           script, for segmentation by characters: han hiragana katakana
                   hangul latin letter mark digit punct space other; mixed if
                   the characters differ

    test:RE        "true" or "false", for one of Wapiti's small regular
                   expressions
    match:RE       the first match, "" if there is none; match_lower:RE the
                   match in lower case
    cluster:NAME   the word's cluster of --clusters NAME=FILE, cluster:NAME:4
                   its first 4 characters; absent for unknown words
    lexicon:NAME   the token's place in a phrase of --lexicons NAME=FILE, B-NAME
                   or I-NAME (or the class of the phrase); absent outside
    observed:NAME  the word if the model knows it, else its class, <lower:ing>;
                   made by the learner hmm

A flag that is set gives its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from palmette.errors import TemplateError
from palmette.features.resources import Resources
from palmette.features.wapiti import compile_regex

Atom = Callable[[str], str | None]


# --- families -----------------------------------------------------------------------------------------------


def _test(regex: str, resources: Resources) -> Atom:
    search = compile_regex(regex).search
    return lambda word: "false" if search(word) is None else "true"


def _match(regex: str, resources: Resources) -> Atom:
    search = compile_regex(regex).search
    return lambda word: search(word) or ""


def _match_lower(regex: str, resources: Resources) -> Atom:
    first_match = _match(regex, resources)
    return lambda word: (first_match(word) or "").lower()


def _cluster(argument: str, resources: Resources) -> Atom:
    name, size = _cluster_argument(argument)
    if name not in resources.clusters:
        raise _not_given("clusters", name, list(resources.clusters))
    find = resources.clusters[name].find
    if size is None:
        return find

    def beginning(word: str) -> str | None:
        label = find(word)
        return None if label is None else label[:size]

    return beginning


def _lexicon(name: str, resources: Resources) -> Atom:
    if name not in resources.lexicons:
        raise _not_given("lexicon", name, list(resources.lexicons))
    raise TypeError(f"lexicon:{name} depends on the words around: use resources.match")


def _observed(name: str, resources: Resources) -> Atom:
    if name not in resources.observed:
        raise TemplateError(f"bad atom `observed:{name}`", hint="it is for the models that the learner hmm makes")
    return resources.observed[name].find


FAMILIES: dict[str, Callable[[str, Resources], Atom]] = {
    "test": _test,
    "match": _match,
    "match_lower": _match_lower,
    "cluster": _cluster,
    "lexicon": _lexicon,
    "observed": _observed,
}


def _cluster_argument(argument: str) -> tuple[str, int | None]:
    """`brown` -> (brown, None), `brown:4` -> (brown, 4)"""
    name, colon, size = argument.partition(":")
    if not colon and name:
        return name, None
    if name and size.isascii() and size.isdecimal() and len(size) <= 4 and int(size) > 0:
        return name, int(size)
    hint = "write cluster:NAME or, for the first characters of the class, cluster:NAME:4"
    raise TemplateError(f"bad atom `cluster:{argument}`", hint=hint)


# --- by name ------------------------------------------------------------------------------------------------


def word_atoms() -> Mapping[str, Atom]:
    """The atoms that are functions of a word alone."""
    from palmette.features.wordforms import WORD_ATOMS  # templates of plain cells do not wait for it

    return WORD_ATOMS


def atom_function(name: str, resources: Resources | None = None) -> Atom:
    """The function of an atom, of a chain of atoms, or (for the empty name) of the cell itself."""
    before, last = _split_chain(name)
    known = word_atoms()
    functions = [known[word_atom] for word_atom in before]
    if last in known:
        functions.append(known[last])
    elif last:
        family, _, argument = last.partition(":")
        functions.append(FAMILIES[family](argument, resources or Resources()))
    return functions[0] if len(functions) == 1 else _chain(functions)


def check_atom(name: str, *, file: str | None = None, line: int | None = None) -> None:
    """Raise a TemplateError with the place if there is no such atom (or its file is not given)."""
    if not name:
        return
    try:
        before, last = _split_chain(name)
        family, _, argument = last.partition(":")
        if family == "lexicon" and (before or not argument):
            raise TemplateError(f"bad atom `{name}`", hint="write lexicon:NAME, with no other atom before it")
        if family == "cluster":
            _cluster_argument(argument)
        elif family in ("test", "match", "match_lower"):
            compile_regex(argument)
    except TemplateError as error:
        message = str(error).partition("\n")[0]
        raise TemplateError(message, file=file, line=line, hint=error.hint) from None


def lexicon_name(name: str) -> str | None:
    """NAME if the atom is `lexicon:NAME`, which is matched over sentences by `resources.match`."""
    return name.removeprefix("lexicon:") if name.startswith("lexicon:") else None


def _split_chain(name: str) -> tuple[list[str], str]:
    """`lower.normal.cluster:brown` -> ([lower, normal], cluster:brown)"""
    before: list[str] = []
    last = name
    known = word_atoms()
    while last and last not in known and not _is_family(last):
        head, _, last = last.partition(".")
        if head not in known or not last:
            raise _unknown(name)
        before.append(head)
    return before, last


def _is_family(name: str) -> bool:
    family, colon, _ = name.partition(":")
    return bool(colon) and family in FAMILIES


def _chain(functions: list[Atom]) -> Atom:
    def chained(word: str) -> str | None:
        value: str | None = word
        for function in functions:
            if value is None:
                return None
            value = function(value)
        return value

    return chained


def _unknown(name: str) -> TemplateError:
    known = ", ".join([*word_atoms(), *(f"{family}:..." for family in FAMILIES)])
    return TemplateError(f"unknown atom `{name}`", hint=f"known atoms: {known}; and chains, lower.suffix3")


def _not_given(kind: str, name: str, given: list[str]) -> TemplateError:
    listed = f"given: {', '.join(sorted(given))}" if given else "none was given"
    return TemplateError(f"the templates ask for the {kind} `{name}`", hint=f"{listed}; give a file of that name")
