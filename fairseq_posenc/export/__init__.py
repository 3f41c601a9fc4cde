"""Trained models for other programs: CTranslate2, Hugging Face's transformers, and torch.export."""
