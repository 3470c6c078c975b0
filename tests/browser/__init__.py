"""The app in a real Chromium."""
