"""External agents: the host's side of remote agents that are reached over A2A."""
