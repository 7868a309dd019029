"""Models over HTTP: one process that answers programs and serves the page.

    request -> guard.py (who may ask, how large, how long) -> app.py (addresses) -> answers of a kind of model
                                                               |
                                                            batcher.py: requests that wait are decoded together

`types.py` declares what requests and answers look like; checks and the description of the interface follow from it.
"""
