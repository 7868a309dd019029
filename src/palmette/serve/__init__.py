"""Models over HTTP: one process that answers programs and serves the page.

    request -> guard.py (who may ask, how large, how long) -> app.py (addresses) -> answers of a kind of model
                                                               |
                                                            batcher.py: requests that wait are decoded together

`types.py` declares what requests and answers look like; checks and the description of the interface follow from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.serve.app import create_app
    from palmette.serve.limits import Limits
    from palmette.serve.page.assets import ASSETS, INDEX
    from palmette.serve.page.views import VIEWS
    from palmette.serve.registry import Source

__getattr__, __dir__ = door(__name__)
