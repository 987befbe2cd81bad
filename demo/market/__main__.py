"""`python -m demo.market`: run the sample's MCP server until it is interrupted."""

from __future__ import annotations

from demo.market.server import running_market
from demo.serve import serve

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C; see `demo.serve` for arguments and exit codes."""
    return serve("demo.market", __doc__ or "", lambda port: running_market(port=port), arguments)


if __name__ == "__main__":
    raise SystemExit(main())
