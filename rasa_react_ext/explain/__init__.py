"""Words for people who write settings."""
