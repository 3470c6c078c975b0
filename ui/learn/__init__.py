"""Lesson: nine steps, each with a prediction before what is shown."""
