"""The page Use a released forest."""
