"""The standard tools over stdio on the official SDK: ``sdk_server.py stdio`` under a short name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.argv[1:] = ["stdio"]

from sdk_server import main  # noqa: E402 - it stands beside this file

if __name__ == "__main__":
    main()
