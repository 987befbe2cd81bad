"""MCP servers as a project configures them: how they are reached, who consents, what is kept."""
