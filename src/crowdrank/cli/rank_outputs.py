"""What `crowdrank rank` writes: files, a report, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from crowdrank.cli import options, results, screen

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.methods.protocols import Method, Trained
    from crowdrank.study import Gold, Judgments


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files to write."""

    ranking: Path | None
    annotators: Path | None
    neighbours: Path | None
    qrels: Sequence[Path]
    model: Path | None
    predictions: Path | None
    csv_safe: bool
    report: Path | None
    chart: Path | None
    effects: Path | None = None

    def check(self, inputs: Sequence[Path]) -> None:
        """Refuse, before the work, files that could not be written after it."""
        tables = [self.ranking, self.annotators, self.neighbours, self.effects, *self.qrels]
        trec, other = [self.ranking, *self.qrels], [self.model, self.predictions]
        options.check_outputs(tables, inputs, trec=trec, other=other, chart=self.chart, report=self.report)


@dataclass(frozen=True, slots=True)
class MethodToFit:
    """A method, or what a supervised one has learned, and the settings to report."""

    method: Method | Trained
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()  # why it was chosen, where the user names none


def report_page(consensus: Consensus, to_fit: MethodToFit, judgments: Judgments, gold: Gold | None, title: str) -> str:
    """The page of the report."""
    from crowdrank.methods.catalogue import METHODS
    from crowdrank.report import RankReport, rank_page

    # What was learned from gold cannot be fitted again without it.
    method = cast("Method", to_fit.method) if consensus.method in METHODS else None
    command = options.command_line()
    return rank_page(
        RankReport(consensus, judgments, method, gold, title=title, command=command, settings=to_fit.settings)
    )


def write(
    consensus: Consensus,
    parts: Mapping[str, Consensus],
    to_fit: MethodToFit,
    outputs: Outputs,
    study: options.JudgmentFiles,
    page: str | None,
) -> None:
    """Write all files, or none."""
    from crowdrank import formats

    ranking: Any = results.with_categories(consensus, parts) if parts else consensus
    tables: dict[Path | None, Any] = {outputs.ranking: ranking, outputs.annotators: consensus.annotators}
    if outputs.effects:
        tables[outputs.effects] = consensus.covariates
    if outputs.neighbours:
        from crowdrank.evaluation.neighbours import neighbours

        tables[outputs.neighbours] = neighbours(consensus)
    tables |= {path: _labels(consensus, path) for path in outputs.qrels}
    if outputs.predictions:
        tables[outputs.predictions] = _predictions(consensus, study)
    if outputs.model:
        from crowdrank.saved import as_bytes

        tables[outputs.model] = as_bytes(cast("Trained", to_fit.method))
    if page is not None:
        tables[outputs.report] = page.encode()
    if outputs.chart:
        from crowdrank.report import intervals

        drawn = intervals(consensus).properties(width=500)
        tables[outputs.chart] = drawn.to_bytes(outputs.chart.suffix.removeprefix("."))
    formats.write_files({path: table for path, table in tables.items() if path}, csv_safe=outputs.csv_safe)


def _predictions(consensus: Consensus, study: options.JudgmentFiles) -> bytes:
    """The consensus for the tool that exported the judgments."""
    from crowdrank.formats.exports.predictions import predictions
    from crowdrank.settings import SettingError

    if len(study.paths) != 1:
        raise SettingError("--predictions needs a single export, of which it keeps the records; give one file")
    return predictions(study.paths[0], consensus, study.columns, study.scale)


def parts_as_json(parts: Mapping[str, Consensus]) -> dict[str, Any]:
    """The rankings within categories."""
    if not parts:
        return {}
    return {"by": {name: {"ranking": part.ranking.to_dicts(), "notes": part.notes} for name, part in parts.items()}}


def _labels(consensus: Consensus, path: Path) -> Any:
    """Labels as qrels, or as a table with the probability of each grade, by the name of the file."""
    from crowdrank.formats.files import TREC_LETOR, kind_of
    from crowdrank.grading import as_gold, labels

    return as_gold(consensus) if kind_of(path)[0] in TREC_LETOR else labels(consensus)


def as_json(consensus: Consensus, to_fit: MethodToFit) -> dict[str, Any]:
    """The result as one JSON document."""
    return {
        "method": consensus.method,
        "settings": to_fit.settings,
        "fit": asdict(consensus.fit),
        "ranking": consensus.ranking.to_dicts(),
        "annotators": consensus.annotators.to_dicts(),
        **({} if consensus.covariates is None else {"covariates": consensus.covariates.to_dicts()}),
        "disconnected": consensus.disconnected,
        "notes": consensus.notes,
    }


def show_written(outputs: Outputs) -> None:
    """Say which files were written."""
    screen.show_written(
        {
            "ranking": outputs.ranking,
            "annotators": outputs.annotators,
            "effects of covariates": outputs.effects,
            "neighbours": outputs.neighbours,
            "what was learned": outputs.model,
            "predictions": outputs.predictions,
            "report": outputs.report,
            "chart": outputs.chart,
        }
    )
    for path in outputs.qrels:
        screen.show_written({"grades": path})
