"""Accuracies by task and length as rows, without matplotlib, so that the recipes can write TSV without it."""

#: Of answers that end where the model ends them, and, with "_oracle", of those whose length is given.
MEASURES = ("exact", "token", "exact_oracle", "token_oracle")
TASK_COLUMNS = {
    "owner": str,
    "task": str,
    "name": str,
    "band": str,
    "from": int,
    "to": int,
    "examples": int,
    "seeds": int,
    **{f"{measure}{part}": float for measure in MEASURES for part in ("", "_deviation")},
}
CURVE_COLUMNS = {"task": str, "name": str, "trained": int, "length": int, **dict.fromkeys(MEASURES, float)}


def task_rows(record):
    """One row per task, system and band, with ``owner`` "ours"; then those of the paper, with its name as ``owner``."""
    rows = [{"owner": "ours", **row} for row in record["summary"]] + [
        {**row, "band": "unseen"} for row in record["paper"]
    ]
    return [{column: row.get(column) for column in TASK_COLUMNS} for row in rows]


def curve_rows(record):
    """One row per task, system and length."""
    trained = {task["task"]: task["trained"] for task in record["tasks"]}
    return [
        {
            "task": curve["task"],
            "name": curve["name"],
            "trained": trained[curve["task"]],
            "length": length,
            **{measure: curve[measure][place] for measure in MEASURES},
        }
        for curve in record["curves"]
        for place, length in enumerate(curve["length"])
    ]
