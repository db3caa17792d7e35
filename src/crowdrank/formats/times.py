"""Times of judgments: dates in any usual form, or numbers: seconds since 1970 or since any other moment; durations."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.formats.source import as_text
from crowdrank.study import Floats

FORMATS = (
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%a %b %d %H:%M:%S %Y",  # Mechanical Turk's, without its time zone
)
DATES = "%Y-%m-%d"
HOURS = {"PST": 8, "PDT": 7, "EST": 5, "EDT": 4, "UTC": 0, "GMT": 0}  # behind UTC
ZONE = rf" ({'|'.join(HOURS)}) "
FIRST, LAST = 1e8, 1e10  # seconds from 1973 to 2286; larger numbers are finer units
CLOCK = r"^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"  # hours, minutes, seconds
LEAST_READ = 0.5  # of the filled cells: a column of which fewer are times holds something else


def as_seconds(values: pl.Series) -> Floats | None:
    """Seconds of each row, NaN where there is no time; None where the column holds no times at all.

    They count from 1970, unless `from_any_start` is true of them.
    """
    filled = len(values) - values.null_count()
    seconds = _seconds(values)
    read = int(np.isfinite(seconds).sum())
    return seconds if read and read >= LEAST_READ * filled else None


def as_durations(values: pl.Series, column: str) -> Floats | None:
    """How many seconds each judgment took, NaN where not known; None where the column does not say it.

    Numbers are seconds, or milliseconds where the name of the column ends in ms. Texts are 1:02:03 or 2:03.

    >>> as_durations(pl.Series(["90", None, "3"]), "duration").tolist()
    [90.0, nan, 3.0]
    >>> as_durations(pl.Series(["0:01:30", "2:05.5"]), "duration").tolist()
    [90.0, 125.5]
    """
    if values.dtype == pl.Duration:
        seconds = values.dt.total_microseconds() / 1e6
    else:
        text = values if values.dtype.is_numeric() else as_text(values).str.strip_chars()
        seconds = text.cast(pl.Float64, strict=False)
        if not values.dtype.is_numeric() and seconds.null_count() == len(seconds):
            parts = [text.str.extract(CLOCK, group).cast(pl.Float64) for group in (1, 2, 3)]
            seconds = parts[0].fill_null(0.0) * 3600 + parts[1] * 60 + parts[2]
        elif column.lower().endswith("ms"):
            seconds = seconds / 1000
    found = seconds.cast(pl.Float64).fill_null(np.nan).to_numpy()
    with np.errstate(invalid="ignore"):
        found = np.where(np.isfinite(found) & (found >= 0), found, np.nan)
    filled = len(values) - values.null_count()
    read = int(np.isfinite(found).sum())
    return found if read and read >= LEAST_READ * filled else None


def from_any_start(seconds: Floats) -> bool:
    """Whether these are small numbers, which say what came first but not the date."""
    return bool(np.nanmax(np.abs(seconds)) < FIRST)


def _seconds(values: pl.Series) -> Floats:
    if values.dtype.is_temporal():
        if values.dtype not in (pl.Date, pl.Datetime):
            return np.full(len(values), np.nan)
        return values.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e6
    text = values if values.dtype.is_numeric() else as_text(values).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    if np.isfinite(numbers).any():
        return _in_seconds(numbers)
    return _of_text(text)


def _in_seconds(numbers: Floats) -> Floats:
    """Seconds from seconds, milliseconds, microseconds or nanoseconds; small numbers as they are."""
    seconds = np.where(np.isfinite(numbers), numbers, np.nan)
    if from_any_start(seconds):
        return seconds
    for _ in range(3):
        seconds = np.where(np.abs(seconds) >= LAST, seconds / 1000, seconds)
    return np.where((seconds >= FIRST) & (seconds < LAST), seconds, np.nan)


def _of_text(text: pl.Series) -> Floats:
    """Dates by the form that most of the texts have; times without a zone are taken for UTC."""
    zone = text.str.extract(ZONE)
    behind = zone.replace_strict(HOURS, default=0, return_dtype=pl.Float64).fill_null(0.0).to_numpy() * 3600
    text = text.str.replace(ZONE, " ").str.replace(r"Z$", "+00:00").str.replace(r" UTC$", "+00:00")
    best = np.full(len(text), np.nan)
    for form in FORMATS:
        found = _parsed(text, form)
        best = np.where(np.isnan(best), found, best)
        if not np.isnan(best).any():
            break
    if np.isnan(best).all():
        days = text.str.to_date(DATES, strict=False).cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64)
        best = days.fill_null(np.nan).to_numpy() / 1e6
    return np.asarray(best + behind)


def _parsed(text: pl.Series, form: str) -> Floats:
    parsed = text.str.to_datetime(form, time_unit="us", strict=False, time_zone="UTC" if form.endswith("z") else None)
    return np.asarray(parsed.dt.epoch("us").cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e6)
