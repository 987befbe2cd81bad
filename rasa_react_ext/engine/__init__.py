"""The ReAct engine: rules, driver and ports. Knows no host and no SDK."""
