"""Write a table of the systems in a row file: scores, parameters, speed, significance, and the paper's numbers.

Reads the results of train.sh, generate.sh and score.sh (OUTPUT-scores-PAIR-seedN.json), and writes OUTPUT.json,
OUTPUT.tsv and OUTPUT.md. With several seeds, the table has means, and the mark of the least significant seed: ++ or +
better, -- or - worse than the baseline by paired bootstrap.
"""

from pathlib import Path

from examples.common import moses
from examples.common.command_line import run_main
from examples.common.tables import add_row_arguments, chosen_by, table_parser, trained, write_table
from examples.common.variables import read_table
from examples.wmt14 import table_text
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.scoring import metrics
from fairseq_posenc.scoring.generate_output import parse_generate_output
from fairseq_posenc.scoring.significance import LEVELS, mark
from fairseq_posenc.scoring.text import read_lines
from fairseq_posenc.scoring.tokenized_bleu import (
    tokenized_bleu,
    tokenized_bleu_metric,
    tokenized_signature,
)
from fairseq_posenc.tables import mean_and_deviation

AVERAGED = ("bleu", "chrf++", "tokenized_bleu", "official_bleu", "words_per_second", "training_minutes")


class Pair:
    """References and metrics, shared by all systems of a language pair."""

    def __init__(self, name, args):
        self.name, self.args = name, args
        self.folder = args.home / name
        target = name.split("-")[1]
        self.references = read_lines(self.folder / "raw" / f"{args.set}.{target}")
        tokens = moses.tokenizer(target)
        # The paper's BLEU is on tokens. The T- lines of fairseq-generate do not have them, because of --tokenizer.
        self.tokenized = tokenized_bleu_metric([tokens(line) for line in self.references])
        self.signatures = {"tokenized_bleu": tokenized_signature(self.tokenized)}
        # The indices of the sentences that sacreBLEU's test set has, if the full test set has more.
        self.official = None
        places = self.folder / "raw" / "test-sacrebleu.lines"
        if args.set == "test" and places.is_file():
            places = [int(line) - 1 for line in read_lines(places)]
            if len(places) < len(self.references):
                self.official = places
                self.official_bleu = metrics.bleu_metric([self.references[place] for place in places])

    def seed_scores(self, seed):
        """The records of all systems, {name: record}, and the significance, from score.sh with one seed."""
        path = Path(f"{self.args.output}-scores-{self.name}-seed{seed}.json")
        scores = read_result(path, ("scores",), "a table takes", "run score.sh first")
        self.signatures.update({kind: scores["signatures"][kind] for kind in ("bleu", "chrf++")})
        return {row["name"]: row for row in scores["systems"]}, scores["significance"]

    def one_run(self, name, seed):
        """The scores of one system with one seed, and the summary of its training run."""
        rows, significance = self.seed_scores(seed)
        folder = self.folder / self.args.size / name / f"seed{seed}"
        log = folder / ("generate.log" if self.args.set == "test" else f"generate-{self.args.set}.log")
        output = parse_generate_output(read_lines(log), log)
        row = {metric: rows[name][metric] for metric in ("bleu", "chrf++")}
        row["tokenized_bleu"] = tokenized_bleu(self.tokenized, output.hypotheses)
        if self.official:
            row["official_bleu"] = metrics.score(
                self.official_bleu, [output.best_text[place] for place in self.official]
            )
        row["p_values"] = (significance or {"p_values": {}})["p_values"].get(name)
        row["baseline"] = significance["baseline"] if significance else None
        return {**row, **trained(folder, seed, self.args.home, self.args.home.name)}


def summary(name, runs, baselines):
    """The record of one system: means and standard deviations over its training runs, and marks.

    Args:
        name: name of the system.
        runs: its training runs, one per seed.
        baselines: those of the baseline.
    """
    row = {"name": name, "parameters": runs[0]["parameters"], "seeds": len(runs)}
    for key in AVERAGED:
        values = [run[key] for run in runs if key in run]
        if values:
            row[key], row[f"{key}_deviation"] = mean_and_deviation(values)
    for metric in ("bleu", "chrf++"):
        signs = [
            mark(mine[metric] - theirs[metric], mine["p_values"][metric])
            for mine, theirs in zip(runs, baselines)
            if mine["p_values"]
        ]
        row[f"{metric}_mark"] = weakest(signs)
    row["trainings"] = runs
    return row


def weakest(signs):
    """The weakest mark of all seeds; empty if a seed has no mark, or if one seed is better and another one worse."""
    if not signs or len({sign[:1] for sign in signs}) > 1:
        return ""
    return min(signs, key=len)


def collect(args):
    """The record of the table."""
    rows = chosen_by(args)
    papers = {(row["name"], row["pair"]): row for row in read_table(args.paper)} if args.paper else {}
    pairs = {}
    for name in args.pairs:
        pair = Pair(name, args)
        runs = {row["name"]: [pair.one_run(row["name"], seed) for seed in args.seeds] for row in rows}
        baseline = runs[rows[0]["name"]][0]["baseline"]
        systems = []
        for row in rows:
            paper = papers.get((row["name"], name))
            systems.append(
                {
                    **summary(row["name"], runs[row["name"]], runs[baseline or row["name"]]),
                    **{key: row[key] for key in row if key not in ("name",)},
                    "paper": {key: paper[key] for key in paper if key not in ("name", "pair")} if paper else None,
                }
            )
        pairs[name] = {
            "sentences": len(pair.references),
            "official_sentences": len(pair.official) if pair.official else None,
            "baseline": baseline,
            "signatures": pair.signatures,
            "systems": systems,
        }
    record = {
        "table": args.output.name,
        "scale": args.home.name,
        "size": args.size,
        "set": args.set,
        "seeds": args.seeds,
        "levels": list(LEVELS),
        "pairs": pairs,
    }
    return {**new_result("table", record), **({"command": args.command} if args.command else {})}


def parse(argv):
    parser = table_parser(__doc__, home="folder of the scale: $WORK/$SCALE")
    add_row_arguments(parser)
    parser.add_argument("--pairs", nargs="+", required=True)
    parser.add_argument("--size", choices=("base", "big"), required=True)
    parser.add_argument("--set", choices=("test", "valid"), default="test")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    write_table(args.output, lambda: collect(args), table_text)


if __name__ == "__main__":
    run_main(main)
