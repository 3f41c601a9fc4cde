"""Generation: fairseq's searches in less time. Importing ``choice`` makes fairseq's tasks use them."""
