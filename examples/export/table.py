"""The table of a comparison of exported models with fairseq."""

#: Programs beside fairseq -> their titles.
TITLES = {
    "ctranslate2": "CTranslate2 fp32",
    "ctranslate2-int8": "CTranslate2 int8",
    "huggingface": "transformers",
}
#: Programs whose logits are shown, in fp32 like fairseq's.
EXACT = ("ctranslate2", "huggingface")


def cells(record):
    """Rows of text, the header first: speed, equal hypotheses and, of language models, the difference of logits."""
    with_logits = any(system["programs"]["fairseq"]["logits_apart"] is not None for system in record["systems"])
    header = ["model", "updates", "fairseq, sentences/s"]
    for program, title in TITLES.items():
        header += [f"{title}, sentences/s", "same as fairseq", *(["logits apart"] * (with_logits and program in EXACT))]
    rows = [header]
    for system in record["systems"]:
        row = [f"`{system['name']}`", str(system["updates"]), speed(system["programs"]["fairseq"])]
        for program in TITLES:
            measured = system["programs"].get(program)
            if measured is None:
                row += ["-"] * (2 + (with_logits and program in EXACT))
                continue
            row += [speed(measured), f"{measured['same_hypotheses']} of {record['sentences']}"]
            if with_logits and program in EXACT:
                row.append(f"{measured['logits_apart']:.0e}")
        rows.append(row)
    return rows


def speed(measured):
    return f"{measured['sentences_per_second']:.1f}"
