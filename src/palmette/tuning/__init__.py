"""The search of `palmette tune`: what is tried, who trains, who goes on, and the record of it."""
