"""The assistant behind the A2A server, on the host: turns, states, slots, card and routes."""
