"""fairseq's commands as users run them, each in a process of its own, on data written here."""
