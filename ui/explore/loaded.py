"""Merge a domain from a file into a table's domain. Parts that the file omits do not change.

This module does not use Streamlit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dpforest.tables.csv_codebook import VALUES, Codebook, CodebookEntry
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, plural, text
from dpforest.tables.read_parts import BOUNDS, CATEGORIES, MISSING, TYPE, Source, sources, with_sources
from dpforest.trees import forest_schema
from ui.shared.sources import check_source

# Parameters of `Feature` with the rules for reading cells, and their values for an attribute without such rules.
EMPTY_RULES: Final[dict[str, Any]] = {"missing_words": (), "signs": (), "spellings": (), "date": None}
RULES: Final = tuple(EMPTY_RULES)


@dataclass(frozen=True)
class Loaded:
    """The domain of a table with a file merged into it.

    Parameters
    ----------
    domain : Domain
        Merged domain. It must not be used if there are `mistakes`.
    names : tuple of str
        Names of the attributes of `domain` for which the file has an entry.
    notes : tuple of str
        Messages about entries and columns of the file that are not used, and about attributes without an entry.
    mistakes : tuple of str
        Reasons why nothing can be loaded; empty if the file is valid.
    differs : bool
        Whether the table's columns that the file names differ from the columns that the table uses now.
    """

    domain: Domain
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    differs: bool = False


def domain_of_json(content: Any) -> Domain:
    """Return the domain in JSON content that `Domain.to_dict` wrote. Raise DomainError for any other JSON."""
    try:
        forest_schema.check(content, "domain")
        return Domain.from_dict(content)
    except forest_schema.SchemaError as problem:
        raise DomainError(f"This JSON is no domain as this page writes it: {problem}.") from None
    except OverflowError:
        raise DomainError("A number in this JSON is too large; write one with fewer digits.") from None


def entries_of(content: dict[str, Any], file: Domain) -> Codebook:
    """Return the domain of a JSON file as codebook entries. A part has a source only if the JSON states this part."""
    entries = []
    for place, (written, feature) in enumerate(zip(content["features"], file.features, strict=True), 1):
        of_values, of_type, of_missing = sources(feature).values()
        stated: dict[str, Source] = {VALUES: of_values}
        if feature.kind == "categorical" or "integer" in written:
            stated[TYPE] = of_type
        if "missing" in written:
            stated[MISSING] = of_missing
        entries.append(
            CodebookEntry(
                f"Attribute {place}",
                feature.name,
                feature.kind,
                feature.low,
                feature.high,
                feature.integer if feature.kind == "numeric" and "integer" in written else None,
                feature.categories,
                feature.missing if "missing" in written else None,
                feature.missing_value,
                stated,
                {rule: getattr(feature, rule) for rule in RULES},
            )
        )
    return Codebook(tuple(entries), (), ())


def merge_file(
    domain: Domain,
    spare: Sequence[Feature],
    book: Codebook,
    file: Domain | None = None,
    *,
    exactly: bool = False,
    other_kinds: bool = True,
) -> Loaded:
    """Merge a file into a domain.

    Parameters
    ----------
    domain : Domain
        Domain of the table, with the user's edits.
    spare : sequence of Feature
        Columns of the table that `domain` does not use.
    book : Codebook
        Entries of the file.
    file : Domain, optional
        Domain of a JSON file. It provides the classes, the unit of privacy, and the sources of the file format and of
        the choice of columns.
    exactly : bool
        Whether to use exactly the attributes that the file names. If False, the choice of columns stays.
    other_kinds : bool
        Whether the kind of an attribute may change. It may change for an upload, whose cells are read from text.
    """
    if book.mistakes:
        return Loaded(domain, mistakes=book.mistakes)
    entries = {entry.name: entry for entry in book.entries}
    used = {feature.name: feature for feature in domain.features}
    unused = {feature.name: feature for feature in spare}
    mistakes: list[str] = []
    features: list[Feature] = []
    for name, old in (used | unused if exactly else used).items():
        if name not in entries:
            features += [] if exactly else [old]
            continue
        try:
            features.append(merge_attribute(old, entries[name], other_kinds=other_kinds))
        except DomainError as problem:
            mistakes.append(str(problem))
            features.append(old)
    columns = {*(feature.column for feature in domain.features), *unused}
    for entry in book.entries:
        if entry.name not in {*used, *unused, domain.label} and _is_date_of(entry, columns):
            try:
                features.append(merge_attribute(_unsourced(entry), entry))
            except DomainError as problem:
                mistakes.append(str(problem))
    if absent := [feature.column for feature in features if feature.column not in columns]:
        mistakes.append(f"This table does not have the column {_listed(absent)} with dates that the file names.")
    result = domain
    try:
        classes, label_notes = _classes(domain, entries.get(domain.label), file)
        unit = domain.unit if file is None or file.unit not in {*used, *unused, domain.unit} else file.unit
        features = [feature for feature in features if feature.name != unit]
        result = replace(domain, features=tuple(features), unit=unit, **classes)
        result = replace(result, **_of_table(result, domain, file))
    except DomainError as problem:
        mistakes.append(str(problem))
        label_notes = []
    known = {*used, *unused, domain.label, *(feature.name for feature in features)}
    differs = bool(set(used) ^ (set(entries) & {*used, *unused}))
    notes = [] if exactly else _notes_on_columns(used, unused, entries)
    if unknown := [name for name in entries if name not in known]:
        notes.insert(0, f"This table does not have {_listed(unknown)}; these entries of the file are not used.")
    if book.unread:
        notes.append(f"The file's {plural(len(book.unread), 'column')} {_listed(book.unread)} cannot be used here.")
    names = tuple(feature.name for feature in features if feature.name in entries)
    if not names and not mistakes and not label_notes:
        mistakes.append("The file names no column of this table. Check that the file belongs to this table.")
    return Loaded(result, names, (*notes, *label_notes), tuple(dict.fromkeys(mistakes)), differs)


def merge_attribute(old: Feature, entry: CodebookEntry, *, other_kinds: bool = True) -> Feature:
    """Return an attribute with the values of its entry. A part that changes without a source counts as read from data.

    Raises
    ------
    DomainError
        If the kind would change although `other_kinds` is False, or if a source is not valid. Also if the entry states
        a source but no values, and the current values were read from the rows.
    """
    kind = entry.kind or _kind_by_values(entry) or old.kind
    if kind != old.kind and not other_kinds:
        raise DomainError(f"{entry.where}, column 'kind': {old.name!r} is {old.kind} in this table.")
    current = dict(zip((VALUES, TYPE, MISSING), sources(old).values(), strict=True))
    entry = _completed(entry, kind, current)
    new = _with_values(old, entry, kind)
    changed = {
        VALUES: _differ(old, new, "low", "high", "categories", "spellings"),
        TYPE: _differ(old, new, "kind", "integer", "signs", "date"),
        MISSING: _differ(old, new, "missing", "missing_value", "missing_words"),
    }
    by_part = {part: _source(entry, part, current[part], changed[part]) for part in current}
    if by_part[VALUES][0] != "data" and current[VALUES][0] == "data" and not _states_all(entry, kind):
        what = "low and high" if kind == "numeric" else "categories"
        raise DomainError(
            f"{entry.where}, column 'source': {old.name!r} has words but no {what}, and those in the table were read "
            f"from the rows; give {what}, or leave the source empty."
        )
    values = BOUNDS if kind == "numeric" else CATEGORIES
    return with_sources(new, {values: by_part[VALUES], TYPE: by_part[TYPE], MISSING: by_part[MISSING]})


def _differ(old: Feature, new: Feature, *names: str) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in names)


def _completed(entry: CodebookEntry, kind: str, current: dict[str, Source]) -> CodebookEntry:
    """Return the entry with a public rule for each part that the entry's source covers but the file omits.

    Without this rule, the entry's source would vouch for a current value that was read from the rows. The public rule
    fits any column: numbers may have fractions, and missing cells form a category.
    """

    def needs_rule(part: str) -> bool:
        return entry.sources.get(part, ("data", ""))[0] != "data" and current[part][0] == "data"

    if kind == "numeric" and entry.whole is None and needs_rule(TYPE):
        entry = replace(entry, whole=False)
    if entry.missing is None and needs_rule(MISSING):
        entry = replace(entry, missing="category", missing_value=None)
    return entry


def _is_date_of(entry: CodebookEntry, columns: Collection[str]) -> bool:
    """Return whether an entry is a part of a date in one of these columns."""
    date = (entry.rules or {}).get("date")
    return date is not None and date.column in columns


def _unsourced(entry: CodebookEntry) -> Feature:
    """Return an attribute without a source, from the entry for a part of a date that the table does not use yet."""
    return Feature(
        entry.name,
        entry.kind or "numeric",
        entry.low,
        entry.high,
        bool(entry.whole),
        entry.categories,
        missing=entry.missing or "refuse",
        missing_value=entry.missing_value,
        type_source="data",
        missing_source="data",
        **(entry.rules or {}),
    )


def _kind_by_values(entry: CodebookEntry) -> str | None:
    if entry.categories:
        return "categorical"
    return None if entry.low is entry.high is entry.whole is None else "numeric"


def _states_all(entry: CodebookEntry, kind: str) -> bool:
    return bool(entry.categories) if kind == "categorical" else entry.low is not None and entry.high is not None


def _with_values(old: Feature, entry: CodebookEntry, kind: str) -> Feature:
    """Return the attribute with the kind and the values of the entry. Values that the entry omits do not change."""
    values: dict[str, Any] = {"kind": kind}
    if kind != old.kind:
        values |= {"low": None, "high": None, "integer": False, "categories": (), "scale": "auto"}
        values |= EMPTY_RULES
    for name, value in (("low", entry.low), ("high", entry.high), ("integer", entry.whole)):
        if value is not None:
            values[name] = value
    if entry.categories:
        values["categories"] = tuple(text(value) for value in entry.categories)
    if entry.missing is not None:
        values |= {"missing": entry.missing, "missing_value": entry.missing_value}
    if entry.rules is not None:
        values |= entry.rules
    try:
        return replace(old, **values)
    except DomainError as problem:
        raise DomainError(f"{entry.where}: {problem}") from None


def _source(entry: CodebookEntry, part: str, current: Source, changed: bool) -> Source:
    """Return the source of a part after the merge.

    If the entry states no source, the current source stays, or becomes "data" if the part changed.
    """
    stated = entry.sources.get(part)
    if stated is None:
        return ("data", "") if changed else current
    if stated[0] == "data":
        return stated
    if current[1] == stated[1] and current[0] != "data" and not changed:
        return current
    _check_words(entry.where, stated, current, changed=changed)
    return "asserted", stated[1]  # the user who loads the file asserts the part, even if the file says "documented"


def _check_words(where: str, stated: Source, current: Source, *, changed: bool = False) -> None:
    """Raise DomainError unless the words name a source. A part that keeps its value and its source is not checked."""
    if stated == current and not changed:
        return
    try:
        check_source(stated[1], "this")
    except DomainError as problem:
        raise DomainError(f"{where}, column 'source': {problem}") from None


def _classes(domain: Domain, entry: CodebookEntry | None, file: Domain | None) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of the domain that set the classes and their source, and notes about the classes."""
    stated: Source | None
    if file is not None and file.classes and file.label == domain.label:
        values, stated, where = file.classes, (file.classes_source, file.classes_note), "The label"
    elif entry is not None and entry.categories:
        values, stated, where = entry.categories, entry.sources.get(VALUES), entry.where
    elif file is not None and file.classes:
        return {}, [f"The classes of the file are those of {file.label!r}, so they are not used here."]
    elif entry is not None:
        raise DomainError(f"{entry.where}, column 'categories': {domain.label!r} is the label; list its classes.")
    else:
        return {}, []
    known = {text(label): label for label in domain.classes}
    classes = tuple(known.get(text(value), value) for value in values)
    current = domain.classes_source, domain.classes_note
    spellings = domain.class_spellings if file is None else file.class_spellings
    texts = set(map(text, classes))
    spellings = tuple(pair for pair in spellings if pair[1] in texts and pair[0] not in texts)
    changed = set(classes) != set(domain.classes) or spellings != domain.class_spellings
    source = _source(
        CodebookEntry(where, domain.label, sources={VALUES: stated} if stated else {}), VALUES, current, changed
    )
    changes = {"classes": classes, "classes_source": source[0], "classes_note": source[1], "class_spellings": spellings}
    return changes, [f"The classes of {domain.label!r} are taken from the file."]


def _of_table(result: Domain, domain: Domain, file: Domain | None) -> dict[str, Any]:
    """Return the parameters that set the sources of the file format and of the choice of columns.

    The file sets the source of the format only if both domains have the same format. It sets the source of the choice
    of columns only if both domains have the same columns.
    """
    changes: dict[str, Any] = {}
    if file is None:
        return changes
    same = {"reading": file.reading == domain.reading, "columns": set(file.names) == set(result.names)}
    for part, is_same in same.items():
        stated, current = (
            (getattr(source_domain, f"{part}_source"), getattr(source_domain, f"{part}_note"))
            for source_domain in (file, domain)
        )
        if not is_same or not stated[0]:
            continue
        if stated[0] != "data":
            _check_words("How the file is written" if part == "reading" else "The choice of columns", stated, current)
            stated = current if stated == current else ("asserted", stated[1])
        changes |= {f"{part}_source": stated[0], f"{part}_note": stated[1]}
    return changes


def _notes_on_columns(
    used: dict[str, Feature], unused: dict[str, Feature], entries: dict[str, CodebookEntry]
) -> list[str]:
    notes = []
    if unticked := [name for name in entries if name in unused]:
        notes.append(f"Of the table's columns, {_listed(unticked)} {'is' if len(unticked) == 1 else 'are'} not used.")
    if absent := [name for name in used if name not in entries]:
        stay = "stays as it is" if len(absent) == 1 else "stay as they are"
        notes.append(f"Not in the file: {_listed(absent)}; {'it' if len(absent) == 1 else 'they'} {stay}.")
    return notes


def changes(before: Domain, after: Domain) -> str:
    """Describe in a sentence how many attributes gain a source, lose it, or still have none.

    >>> read = Feature("a", "numeric", 0, 1)
    >>> known = Feature("a", "numeric", 0, 1, source="asserted", source_note="a share by definition")
    >>> changes(Domain((read,)), Domain((known,))), changes(Domain((known,)), Domain((read,)))
    ('1 column now has a source.', '1 column has lost its source, 1 is still read from the rows.')
    """
    read_before = {feature.name for feature in before.features if feature.leaks()}
    still_read = {feature.name for feature in after.features if feature.leaks()}
    names = set(after.names)
    gained = len((read_before & names) - still_read)
    clauses = (
        [f"{plural(gained, 'column')} now {'has' if gained == 1 else 'have'} a source"]
        if gained or not still_read
        else []
    )
    if lost := len((still_read & set(before.names)) - read_before):
        clauses.append(f"{plural(lost, 'column')} {'has lost its' if lost == 1 else 'have lost their'} source")
    if still_read:
        clauses.append(f"{len(still_read):,} {'is' if len(still_read) == 1 else 'are'} still read from the rows")
    return f"{', '.join(clauses)}."


def _listed(names: Sequence[str], most: int = 6) -> str:
    first_names = ", ".join(repr(name) for name in names[:most])
    return first_names if len(names) <= most else f"{first_names} and {len(names) - most:,} more"
