"""The search of `palmette tune`: what is tried, how trainings run, which settings continue, and the record of it."""
