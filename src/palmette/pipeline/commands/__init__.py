"""`palmette pipeline`: language pipelines, from plain text to trees."""
