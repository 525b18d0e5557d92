"""The bench: measures the target table of `docs/performance.md` as ratios of what ran in the same minutes."""
