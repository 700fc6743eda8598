"""The record of runs: traces, spans and payloads. Knows nothing of agents but its events."""
