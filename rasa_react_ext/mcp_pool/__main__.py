"""`python -m rasa_react_ext.mcp_pool`: the probe."""

from __future__ import annotations

import sys

from rasa_react_ext.mcp_pool.probe import main

if __name__ == "__main__":
    sys.exit(main())
