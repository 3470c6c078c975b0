"""The app in a real Chromium. A package, so that its conftest does not take the name of the one above."""
