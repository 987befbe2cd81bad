"""Who hears what a run does, beside the tracker: trace files and telemetry (design D10)."""
