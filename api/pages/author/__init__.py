"""Pages for authors: their account, uploads, own matches, appeals."""
