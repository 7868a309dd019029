"""`python -m bench downstream`: programs of users of other tools, as they are, with palmette in place of the tool.

Each case runs the original and palmette in turn, in processes of their own, and gives CPU seconds and accuracy of both.
A case whose packages or data are missing says so in one line.
"""
