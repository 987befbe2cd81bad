"""The sample's MCP server: a small stock exchange and adviser desk with offline data.

Owns the tools and their answers; knows nothing of Rasa or of this package.
"""

from demo.market.exchange import Exchange
from demo.market.server import build_server, running_market

__all__ = ["Exchange", "build_server", "running_market"]
