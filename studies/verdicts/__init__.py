"""The rule by which published claims are judged, and the claims of each paper as data. See studies/claims.py."""
